"""Chat messages, which work in the same way in every mode: storage, delivery, display names and member records."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import expect, expect_that
from chatkey_conform.subject.peer import Peer
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import BrowserKey, Json

FAMILY = Family("chat", "Chat", "socket.md#chat")
LOGINS = ("visitor", "custom", "social")
SECOND = 1.1
ENTRY = ("id", "seq", "sender", "name", "body", "sent_at")


def token_of(shop: Shop, login: str) -> str:
    """Return a valid token for a visitor, a custom login or a social login."""
    if login == "visitor":
        return shop.visitor_token()
    return shop.token() if login == "custom" else shop.social_token(data={"auth_provider": shop.social})


def write(peer: Peer, body: str, number: int = 1, **more: object) -> Json:
    """Send a message, and check that it is acknowledged."""
    return peer.granted({"type": "message", "id": f"m-{number}", "body": body, **more}, "ack")


def history(peer: Peer, **more: object) -> Json:
    """Request the history."""
    return peer.granted({"type": "history", "id": "h-1", **more}, "history")


def only(told: Json) -> Json:
    """Return the only message of a history. Raises `Broken` if there is none or more than one."""
    found = told["messages"]
    expect(len(found), 1, "The number of stored messages after one was sent")
    return Json(found[0])


def until_pong(peer: Peer, *awaited: str) -> list[Json]:
    """Send a `ping`. Return the frames that are received until the `pong` and every awaited type have been received."""
    peer.say({"type": "ping"})
    heard: list[Json] = []
    while not {"pong", *awaited} <= {frame["type"] for frame in heard}:
        heard.append(peer.next())
    return [frame for frame in heard if frame["type"] != "pong"]


def stays(peer: Peer, frame: Json, code: str) -> None:
    """Check that an `error` with the request's `id` refuses a request, and that the connection stays open."""
    answer = peer.ask({**frame, "id": "f-1"})
    came = (answer["type"], answer.get("code"), answer.get("id"))
    expect(came, ("error", code, "f-1"), "type, code and id of the answer")
    peer.granted({"type": "ping"}, "pong")


@FAMILY.judges("D-10/messages", "1/same-chat", "D-10/history-search-call", each=LOGINS)
def a_message_is_stored_and_acknowledged(subject: Subject, login: str) -> None:
    """A message is acknowledged and appears in the history."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        ack = write(peer, "Is the oak table in stock?")
        told = history(peer)

    message = only(told)
    expect((message.get("id"), message.get("seq")), ("m-1", ack["seq"]), "id and seq of the stored message")
    expect((message.get("sender"), message.get("body")), ("customer", "Is the oak table in stock?"), "sender and body")
    expect(message.get("sent_at"), ack["sent_at"], "sent_at of the stored message")
    expect_that(abs(ack["sent_at"] - subject.now()) < 60, "sent_at differs from the service's time by 60 s or more")
    expect(told["more"], False, "`more` of the history")


@FAMILY.judges(
    "D-10/messages",
    "D-10/frame-schema",
    each={
        "emoji": "\N{FOX FACE} \N{FAMILY}\u200d",
        "decomposed": "cafe\u0301",
        "spaces": "  two  before and behind  ",
        "lines": "one\r\ntwo\n\n\tthree",
        "right-to-left": "\u202e\u0645\u0631\u062d\u0628\u0627",
        "markup": "<b>&amp;</b> {{7*7}} %s ${x} \\u0041",
        "no-width": "\u200b",
        "controls": "\x01\x1b[1m\x7f\x80\x9f",
        "byte-order-mark": "\ufeff",
    },
)
def a_body_is_stored_as_it_was_written(subject: Subject, body: str) -> None:
    """A message body is stored unchanged. Only a body that consists of white space counts as empty."""
    with subject.joined(subject.shop()) as peer:
        write(peer, body)
        found = [message["body"] for message in history(peer)["messages"]]

    expect(found, [body], "The bodies of the stored messages")


@FAMILY.judges("D-10/frame-schema", "D-20/passed-over", page="socket.md#the-socket")
def members_that_are_not_known_are_passed_over(subject: Subject) -> None:
    """Unknown members of a frame are ignored, and `before` and `name` may be null."""
    with subject.joined(subject.shop()) as peer:
        write(peer, "Hello", headers={"name": None, "x": [1]}, seq=7, sender="agent", x={"y": None})
        message = only(history(peer, before=None, x=1))

    expect((message["sender"], message["name"]), ("customer", "Ada Lovelace"), "sender and name of the message")


@FAMILY.judges("D-10/messages", each=LOGINS)
def what_is_written_is_there_at_the_next_connection(subject: Subject, login: str) -> None:
    """The messages of a conversation are still there at the next connection."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        write(peer, "Still there?")
    with subject.joined(shop, token_of(shop, login)) as peer:
        found = [message["body"] for message in history(peer)["messages"]]

    expect(found, ["Still there?"], "The history at the next connection")


@FAMILY.judges("D-10/messages", "D-10/history-search-call")
def the_numbers_go_on_at_the_next_connection(subject: Subject) -> None:
    """The `seq` numbers of a conversation continue at the next connection."""
    shop, seqs = subject.shop(), []
    for number in range(3):
        with subject.joined(shop) as peer:
            seqs.append(write(peer, f"Number {number}", number)["seq"])
    with subject.joined(shop) as peer:
        stored = [message["seq"] for message in history(peer)["messages"]]

    expect_that(seqs == sorted(set(seqs)), f"The seq numbers of three connections do not increase: {seqs}")
    expect(stored, seqs, "seq of the messages in the history")


@FAMILY.judges("D-10/message-id", "D-10/messages")
def an_id_in_other_letters_is_another_message(subject: Subject) -> None:
    """The `id` of a message is case-sensitive."""
    with subject.joined(subject.shop()) as peer:
        for name in ("m-a", "m-A"):
            peer.granted({"type": "message", "id": name, "body": name}, "ack")
        stored = [message["body"] for message in history(peer)["messages"]]

    expect(stored, ["m-a", "m-A"], "The bodies of the stored messages")


@FAMILY.judges("D-10/message-id", "D-10/frame-schema", page="socket.md#the-socket")
def an_id_has_up_to_64_letters(subject: Subject) -> None:
    """An `id` has 1 to 64 of the characters `A-Z a-z 0-9 _ -`."""
    with subject.joined(subject.shop()) as peer:
        for name in ("0", "-_", "A" * 64):
            peer.granted({"type": "message", "id": name, "body": "Hello"}, "ack")
        stored = [message["id"] for message in history(peer)["messages"]]

    expect(stored, ["0", "-_", "A" * 64], "The ids of the stored messages")


@FAMILY.judges("D-10/message-id", "D-10/messages")
def an_id_is_the_conversations_and_its_first_body_stands(subject: Subject) -> None:
    """If an `id` is sent again with another body, the first ack is repeated and only the first message is stored."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        first = write(peer, "One")
    threading.Event().wait(SECOND)  # so that a new timestamp would differ
    with subject.joined(shop) as other:
        again = write(other, "Another")
        stored = [message["body"] for message in history(other, before=None)["messages"]]

    expect((again["seq"], again["sent_at"]), (first["seq"], first["sent_at"]), "seq and sent_at of the second ack")
    expect(stored, ["One"], "The bodies of the stored messages")


@FAMILY.judges("D-10/messages", "1/same-chat", rows=["WSK-056"])
def two_tabs_of_one_member_both_hear_everything(subject: Subject) -> None:
    """A message sent in one tab is delivered to the other tab."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        write(one, "From one")
        heard = other.next()

    expect(
        (heard["type"], heard.get("body")),
        ("message", "From one"),
        "type and body of the frame that the other tab receives",
    )


@FAMILY.judges("D-10/messages", rows=["WSK-056"])
def who_writes_hears_an_ack_and_every_other_tab_the_message_once(subject: Subject) -> None:
    """The sending socket receives only the ack, and every other socket of the member receives the message once."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        one.say({"type": "message", "id": "m-1", "body": "From one", "headers": {"name": "Grace"}})
        mine, theirs = until_pong(one, "ack"), [other.next(), *until_pong(other)]
        stored = only(history(one))

    expect([frame["type"] for frame in mine], ["ack"], "The frames that the sending tab receives")
    expect([frame["type"] for frame in theirs], ["message"], "The frames that the other tab receives")
    heard, kept = ([message[name] for name in ENTRY] for message in (theirs[0], stored))
    expect(heard, kept, "The message that the other tab receives")


@FAMILY.judges("D-10/message-id", "D-10/messages")
def a_message_that_comes_again_is_told_to_nobody(subject: Subject) -> None:
    """A repeated message is not delivered to the other tab again."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        write(one, "One")
        told = other.next()
        write(one, "One")
        later = [frame["type"] for frame in until_pong(other)]

    expect((told["type"], later), ("message", []), "The frames that the other tab receives")


@FAMILY.judges("D-10/messages", "D-10/message-id")
def messages_of_two_tabs_at_the_same_time_have_numbers_of_their_own(subject: Subject) -> None:
    """If two tabs send at the same time, each message is stored once, with a `seq` of its own."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other, ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda peer: [write(peer, "Hello", number) for number in range(8)], (one, other))
        acks = [(ack["id"], ack["seq"]) for acked in told for ack in acked]
        stored = [(message["id"], message["seq"]) for message in history(one)["messages"]]

    expect(len({seq for _, seq in stored}), 8, "The number of different seqs of eight messages from two tabs")
    expect(set(acks), set(stored), "id and seq of the acknowledged messages")


@FAMILY.judges("D-10/message-id")
def an_id_is_of_one_conversation_and_not_of_all(subject: Subject) -> None:
    """The same `id` in another person's conversation belongs to a different message."""
    for body in ("Mine", "Somebody else's"):
        with subject.joined(subject.shop()) as peer:
            write(peer, body)
            found = [message["body"] for message in history(peer)["messages"]]
        expect(found, [body], "The bodies of the stored messages")


@FAMILY.judges("D-10/messages", "D-11/keyed", rows=["WSK-058"])
def nobody_else_hears_it(subject: Subject) -> None:
    """A member does not receive another member's messages, even if those messages have the member's name."""
    shop, key = subject.shop(), BrowserKey()
    hers = shop.token(uid=f"{shop.member}-alice", cnf={"jkt": key.jkt})
    with subject.joined(shop) as mine, subject.socket() as alice:
        alice.join(hers, key)
        write(mine, "Only mine", headers={"name": "alice", "uid": f"{shop.member}-alice"})
        alice.granted({"type": "ping"}, "pong")
        seen = history(alice)["messages"]

    expect(seen, [], "The history of another member")


@FAMILY.judges("D-10/messages", "2.4/display", each=LOGINS)
def the_name_shown_is_the_headers_else_the_tokens(subject: Subject, login: str) -> None:
    """The displayed name is the one in the frame's `headers`.

    If that name is missing or empty, the token's is displayed.
    """
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        names = ("", " \n", "Grace")
        given: list[Json] = [{}, {"headers": {}}, *({"headers": {"name": name}} for name in names)]
        for number, more in enumerate(given):
            write(peer, "Hello", number, **more)
        shown = [message["name"] for message in history(peer)["messages"]]

    own = None if login == "visitor" else "Ada Lovelace"
    expect(shown, [own, own, own, own, "Grace"], "The names shown with the messages")


@FAMILY.judges(
    "D-10/messages",
    page="socket.md#chat",
    each={
        "controls": (" Ada\nLovelace\t", "Ada Lovelace"),
        "delete": ("Ada\x7fLovelace", "Ada Lovelace"),
        "next-line": ("Ada\x85Lovelace", "Ada Lovelace"),
        "c1": ("Ada\x9fLovelace", "Ada Lovelace"),
        "line-end": ("Ada\u2029Lovelace", "Ada Lovelace"),
        "run-of-controls": ("Ada\r\n\0\u2028Lovelace", "Ada Lovelace"),
        "wide-spaces-at-the-ends": ("\u00a0Ada Lovelace\u3000", "Ada Lovelace"),
        "spaces-within": ("Ada  Lovelace", "Ada  Lovelace"),
    },
)
def a_name_is_one_line(subject: Subject, name: str, wanted: str) -> None:
    """In a name, each run of control characters becomes a space, and white space at both ends is removed."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        write(peer, "Hello", headers={"name": name})
        shown = only(history(peer))["name"]

    expect(shown, wanted, "name of the message")


@FAMILY.judges("D-10/messages", "2.4/display", page="socket.md#chat")
def a_tokens_name_is_one_line_too(subject: Subject) -> None:
    """Control characters in the token's name become spaces, and a name of only white space counts as missing."""
    for number, (name, wanted) in enumerate(((" Ada\nLovelace\u2028", "Ada Lovelace"), ("\t ", None))):
        shop = subject.shop()
        with subject.joined(shop, shop.token(name=name)) as peer:
            write(peer, "Hello", number)
            shown = only(history(peer))["name"]
        expect(shown, wanted, "name of the message")


# records


@FAMILY.judges("2.7/custom-on-first", needs=["member-records"], page="protocol.md#endpoints")
def a_custom_members_record_is_made_with_the_first_message(subject: Subject) -> None:
    """A custom member's record is created with the first message, with the name from the frame's `headers`."""
    shop = subject.shop()

    def mine() -> list[Json]:
        return [
            member for member in subject.world.businesses.members(shop.business) if member.get("uid") == shop.member
        ]

    with subject.joined(shop) as peer:
        before = mine()
        write(peer, "Hello", headers={"name": "Grace"})
        after = mine()

    expect(before, [], "The member's records before the first message")
    expect(
        [member.get("name") for member in after], ["Grace"], "The names in the member's records after the first message"
    )


@FAMILY.judges("2.7/custom-on-first", "D-10/messages", needs=["member-records"], page="protocol.md#endpoints")
def a_name_in_a_frame_changes_no_social_members_record(subject: Subject) -> None:
    """Only a login changes a social member's record: a message with a name in its `headers` does not."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, "social")) as peer:
        write(peer, "Hello", headers={"name": "Grace"})
    told = [member for member in subject.world.businesses.members(shop.business) if shop.member in str(member["uid"])]

    expect_that(
        "Grace" not in [member.get("name") for member in told], "The frame's name is in the social member's record"
    )


@FAMILY.judges("2.7/custom-on-first", needs=["member-records"], page="protocol.md#endpoints")
def a_visitor_has_no_record(subject: Subject) -> None:
    """A visitor who sends a message gets no member record."""
    shop = subject.shop()
    with subject.joined(shop, shop.visitor_token()) as peer:
        write(peer, "Hello")
    uids = {member.get("uid") for member in subject.world.businesses.members(shop.business)}

    expect_that(shop.key.uid not in uids, "The visitor has a member record")
