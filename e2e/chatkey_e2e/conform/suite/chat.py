"""Messages, history, search and calls, the same in every mode."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chatkey_e2e.conform.case import Family
from chatkey_e2e.conform.judging.verdict import expect, expect_that
from chatkey_e2e.conform.making.honest import BrowserKey, Json
from chatkey_e2e.conform.subject.peer import Peer
from chatkey_e2e.conform.subject.shop import Shop
from chatkey_e2e.conform.subject.subject import Subject

FAMILY = Family("chat", "Chat", "socket.md#chat")
LOGINS = ("visitor", "custom", "social")
TRIES = 4
SECOND = 1.1
ENTRY = ("id", "seq", "sender", "name", "body", "sent_at")


def token_of(shop: Shop, login: str) -> str:
    """Return an honest token of one of the logins."""
    if login == "visitor":
        return shop.visitor_token()
    return shop.token() if login == "custom" else shop.social_token(data={"auth_provider": shop.social})


def write(peer: Peer, body: str, number: int = 1, **more: object) -> Json:
    """Write a message, which has to be acknowledged."""
    return peer.granted({"type": "message", "id": f"m-{number}", "body": body, **more}, "ack")


def history(peer: Peer, **more: object) -> Json:
    """Ask for the history."""
    return peer.granted({"type": "history", "id": "h-1", **more}, "history")


def only(told: Json) -> Json:
    """Return the message of a history that has one. Raises `Broken` where it has none, or more."""
    found = told["messages"]
    expect(len(found), 1, "The number of messages where one was written")
    return Json(found[0])


@FAMILY.judges("D-10/messages", "1/same-chat", "D-10/history-search-call", each=LOGINS)
def a_message_is_stored_and_acknowledged(subject: Subject, login: str) -> None:
    """A message is stored, acknowledged, and in the history."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        ack = write(peer, "Is the oak table in stock?")
        told = history(peer)

    message = only(told)
    expect((message.get("id"), message.get("seq")), ("m-1", ack["seq"]), "id and seq of the stored message")
    expect((message.get("sender"), message.get("body")), ("customer", "Is the oak table in stock?"), "sender and body")
    expect(message.get("sent_at"), ack["sent_at"], "sent_at of the stored message")
    expect_that(abs(ack["sent_at"] - subject.now()) < 60, "sent_at is not the service's time")
    expect(told["more"], False, "more of the history")


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
        "byte-order-mark": "\ufeff",
    },
)
def a_body_is_stored_as_it_was_written(subject: Subject, body: str) -> None:
    """Every letter of a body stays what it is; what is no white space is no empty message."""
    with subject.joined(subject.shop()) as peer:
        write(peer, body)
        found = [message["body"] for message in history(peer)["messages"]]

    expect(found, [body], "What is stored")


@FAMILY.judges("D-10/frame-schema", "D-20/passed-over", page="socket.md#the-socket")
def members_that_are_not_known_are_passed_over(subject: Subject) -> None:
    """A frame may have members that nobody knows, and `before` and `name` may be null."""
    with subject.joined(subject.shop()) as peer:
        write(peer, "Hello", headers={"name": None, "x": [1]}, seq=7, sender="agent", x={"y": None})
        message = only(history(peer, before=None, x=1))

    expect((message["sender"], message["name"]), ("customer", "Ada Lovelace"), "sender and name of the message")


@FAMILY.judges("D-10/messages", each=LOGINS)
def what_is_written_is_there_at_the_next_connection(subject: Subject, login: str) -> None:
    """A conversation outlives its connection."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        write(peer, "Still there?")
    with subject.joined(shop, token_of(shop, login)) as peer:
        found = [message["body"] for message in history(peer)["messages"]]

    expect(found, ["Still there?"], "The history at the next connection")


@FAMILY.judges("D-10/messages", "D-10/history-search-call")
def the_numbers_go_on_at_the_next_connection(subject: Subject) -> None:
    """`seq` is a number of the conversation, whichever connection a message came by."""
    shop, seqs = subject.shop(), []
    for number in range(3):
        with subject.joined(shop) as peer:
            seqs.append(write(peer, f"Number {number}", number)["seq"])
    with subject.joined(shop) as peer:
        stored = [message["seq"] for message in history(peer)["messages"]]

    expect_that(seqs == sorted(set(seqs)), f"The numbers of messages by three connections are {seqs}")
    expect(stored, seqs, "seq of the history")


@FAMILY.judges("D-10/message-id", "D-10/messages")
def an_id_in_other_letters_is_another_message(subject: Subject) -> None:
    """An `id` is the widget's choice, and its letter case counts."""
    with subject.joined(subject.shop()) as peer:
        for name in ("m-a", "m-A"):
            peer.granted({"type": "message", "id": name, "body": name}, "ack")
        stored = [message["body"] for message in history(peer)["messages"]]

    expect(stored, ["m-a", "m-A"], "What is stored")


@FAMILY.judges("D-10/message-id", "D-10/frame-schema", page="socket.md#the-socket")
def an_id_has_up_to_64_letters(subject: Subject) -> None:
    """An `id` is 1 to 64 of `A-Z a-z 0-9 _ -`."""
    with subject.joined(subject.shop()) as peer:
        for name in ("0", "-_", "A" * 64):
            peer.granted({"type": "message", "id": name, "body": "Hello"}, "ack")
        stored = [message["id"] for message in history(peer)["messages"]]

    expect(stored, ["0", "-_", "A" * 64], "The ids of what is stored")


@FAMILY.judges("D-10/message-id", "D-10/messages")
def an_id_is_the_conversations_and_its_first_body_stands(subject: Subject) -> None:
    """The same `id` by another connection, with another body, is acknowledged as the first, and stored once."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        first = write(peer, "One")
    threading.Event().wait(SECOND)  # so that the time is another, if it is told anew
    with subject.joined(shop) as other:
        again = write(other, "Another")
        stored = [message["body"] for message in history(other, before=None)["messages"]]

    expect((again["seq"], again["sent_at"]), (first["seq"], first["sent_at"]), "seq and sent_at of the second ack")
    expect(stored, ["One"], "What is stored")


@FAMILY.judges("D-10/messages", "1/same-chat", rows=["WSK-056"])
def two_tabs_of_one_member_both_hear_everything(subject: Subject) -> None:
    """What is written in one tab is told to the other."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        write(one, "From one")
        heard = other.next()

    expect((heard["type"], heard.get("body")), ("message", "From one"), "What the other tab hears")


def until_pong(peer: Peer, *awaited: str) -> list[Json]:
    """Return what the service says until it has answered a `ping`, and said what is awaited, in whatever order."""
    peer.say({"type": "ping"})
    heard: list[Json] = []
    while not {"pong", *awaited} <= {frame["type"] for frame in heard}:
        heard.append(peer.next())
    return [frame for frame in heard if frame["type"] != "pong"]


@FAMILY.judges("D-10/messages", rows=["WSK-056"])
def who_writes_hears_an_ack_and_every_other_tab_the_message_once(subject: Subject) -> None:
    """A message is acknowledged to the socket that wrote it, and told to each other one, once."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        one.say({"type": "message", "id": "m-1", "body": "From one", "headers": {"name": "Grace"}})
        mine, theirs = until_pong(one, "ack"), [other.next(), *until_pong(other)]
        stored = only(history(one))

    expect([frame["type"] for frame in mine], ["ack"], "What the tab that writes hears")
    expect([frame["type"] for frame in theirs], ["message"], "What the other tab hears")
    heard, kept = ([message[name] for name in ENTRY] for message in (theirs[0], stored))
    expect(heard, kept, "The message that is told")


@FAMILY.judges("D-10/message-id", "D-10/messages")
def a_message_that_comes_again_is_told_to_nobody(subject: Subject) -> None:
    """What is sent again is not news to the other tab."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        write(one, "One")
        told = other.next()
        write(one, "One")
        later = [frame["type"] for frame in until_pong(other)]

    expect((told["type"], later), ("message", []), "What the other tab hears")


@FAMILY.judges("D-10/messages", "D-10/message-id")
def messages_of_two_tabs_at_the_same_time_have_numbers_of_their_own(subject: Subject) -> None:
    """However many write at once, each message is stored once, and has a `seq` that no other has."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other, ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda peer: [write(peer, "Hello", number) for number in range(8)], (one, other))
        acks = [(ack["id"], ack["seq"]) for acked in told for ack in acked]
        stored = [(message["id"], message["seq"]) for message in history(one)["messages"]]

    expect(len({seq for _, seq in stored}), 8, "The number of different seqs of eight messages that two tabs write")
    expect(set(acks), set(stored), "id and seq of what was acknowledged")


@FAMILY.judges("D-10/message-id")
def an_id_is_of_one_conversation_and_not_of_all(subject: Subject) -> None:
    """The same `id` in the conversation of somebody else is another message."""
    for body in ("Mine", "Somebody else's"):
        with subject.joined(subject.shop()) as peer:
            write(peer, body)
            found = [message["body"] for message in history(peer)["messages"]]
        expect(found, [body], "What is stored")


@FAMILY.judges("D-10/messages", "D-11/keyed")
def nobody_else_hears_it(subject: Subject) -> None:
    """Another member sees nothing of a conversation."""
    shop, key = subject.shop(), BrowserKey()
    hers = shop.token(uid=f"{shop.member}-alice", cnf={"jkt": key.jkt})
    with subject.joined(shop) as mine, subject.socket() as alice:
        alice.join(hers, key)
        write(mine, "Only mine", headers={"name": "alice"})
        alice.granted({"type": "ping"}, "pong")
        seen = history(alice)["messages"]

    expect(seen, [], "What another member sees")


@FAMILY.judges("D-10/messages", "2.4/display", each=LOGINS)
def the_name_shown_is_the_headers_else_the_tokens(subject: Subject, login: str) -> None:
    """The name of a message is that of the frame's header, else the token's; an empty one counts as none."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        names = ("", " \n", "Grace")
        given: list[Json] = [{}, {"headers": {}}, *({"headers": {"name": name}} for name in names)]
        for number, more in enumerate(given):
            write(peer, "Hello", number, **more)
        shown = [message["name"] for message in history(peer)["messages"]]

    own = None if login == "visitor" else "Ada Lovelace"
    expect(shown, [own, own, own, own, "Grace"], "The names of the messages")


@FAMILY.judges(
    "D-10/messages",
    page="socket.md#chat",
    each={
        "controls": (" Ada\nLovelace\t", "Ada Lovelace"),
        "delete": ("Ada\x7fLovelace", "Ada Lovelace"),
        "next-line": ("Ada\x85Lovelace", "Ada Lovelace"),
        "c1": ("Ada\x9fLovelace", "Ada Lovelace"),
        "line-end": ("Ada\u2029Lovelace", "Ada Lovelace"),
        "spaces-within": ("Ada  Lovelace", "Ada  Lovelace"),
    },
)
def a_name_is_one_line(subject: Subject, name: str, wanted: str) -> None:
    """A control character of a name becomes a space, and spaces at its ends are dropped."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        write(peer, "Hello", headers={"name": name})
        shown = only(history(peer))["name"]

    expect(shown, wanted, "name of the message")


@FAMILY.judges("D-10/messages", "2.4/display", page="socket.md#chat")
def a_tokens_name_is_one_line_too(subject: Subject) -> None:
    """Control characters of a token's name become spaces, and one of nothing else is none."""
    for number, (name, wanted) in enumerate(((" Ada\nLovelace\u2028", "Ada Lovelace"), ("\t ", None))):
        shop = subject.shop()
        with subject.joined(shop, shop.token(name=name)) as peer:
            write(peer, "Hello", number)
            shown = only(history(peer))["name"]
        expect(shown, wanted, "name of the message")


@FAMILY.judges("D-10/history-search-call")
def history_is_paged(subject: Subject) -> None:
    """`limit` and `before` page through the history, in the order of `seq`."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        seqs = [write(peer, f"Number {number}", number)["seq"] for number in range(5)]
        newest = history(peer, limit=2)
        older = history(peer, limit=2, before=seqs[3])
        rest = history(peer, before=seqs[1])
        filled = history(peer, limit=3, before=seqs[3])
        pages = (newest, older, rest, filled)

    found = [[message["seq"] for message in page["messages"]] for page in pages]
    expect(found, [seqs[3:], seqs[1:3], seqs[:1], seqs[:3]], "seq of the pages")
    expect([page["more"] for page in pages], [True, True, False, False], "more of the pages")


@FAMILY.judges("D-10/history-search-call")
def history_has_50_messages_at_most_and_knows_its_ends(subject: Subject) -> None:
    """Without a `limit` there are 50; before the first there is nothing, and beyond the last all."""
    with subject.joined(subject.shop()) as peer:
        seqs = [write(peer, "Hello", number)["seq"] for number in range(51)]
        newest, first = history(peer), history(peer, before=seqs[0])
        beyond = history(peer, before=2**31 - 1, limit=50)

    expect_that(seqs == sorted(set(seqs)) and seqs[0] >= 1, "The messages of a conversation are not numbered in order")
    for page, wanted, more in ((newest, seqs[1:], True), (first, [], False), (beyond, seqs[1:], True)):
        expect([message["seq"] for message in page["messages"]], wanted, "seq of a page")
        expect(page["more"], more, "more of a page")


# search


@FAMILY.judges(
    "D-10/history-search-call",
    needs=["search"],
    each={
        "capitals": ("STRASSE", 1),
        "sharp-s": ("stra\u00dfe", 1),
        "decomposed": ("CAFE\u0301", 1),
        "part": ("angen", 1),
        "accents-count": ("Cafe", 0),
        "nothing": ("oak", 0),
        "percent": ("%", 0),
        "underscore": ("L_ngen", 0),
        "pattern": ("Caf.", 0),
        "backslash": ("\\", 0),
        "space-behind": ("Stra\u00dfe ", 0),
        "compatible": ("No1", 0),
    },
)
def a_search_folds_letters_and_not_accents(subject: Subject, query: str, count: int) -> None:
    """A search finds any part of a body, whatever the letter case and the spelling of accents."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        write(peer, "N\u1d52\u00b9: Das Caf\u00e9 in der Langen Stra\u00dfe")
        found = peer.granted({"type": "search", "id": "s-1", "query": query}, "search")["messages"]

    expect(len(found), count, f"The number of messages with {query!r}")


@FAMILY.judges("D-10/history-search-call", "1/same-chat", needs=["search"], each=LOGINS)
def a_search_stays_in_ones_own_conversation(subject: Subject, login: str) -> None:
    """A search finds one's own messages only."""
    shop, other = subject.shop(), subject.shop()
    with subject.joined(other) as peer:
        write(peer, "The oak table of somebody else")
    with subject.joined(shop, token_of(shop, login)) as peer:
        write(peer, "My oak table")
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect([message["body"] for message in found], ["My oak table"], "What is found")


@FAMILY.judges("D-10/history-search-call", needs=["search"])
def a_search_tells_the_newest_50_in_their_order(subject: Subject) -> None:
    """Of more than 50 messages that contain the text, a search tells the newest, in the order of `seq`."""
    with subject.joined(subject.shop()) as peer:
        seqs = [write(peer, "An oak", number)["seq"] for number in range(51)]
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect([message["seq"] for message in found], seqs[1:], "seq of what is found")


@FAMILY.judges("D-10/history-search-call", needs=["search"])
def a_search_looks_at_bodies_alone(subject: Subject) -> None:
    """The name beside a message is not searched."""
    with subject.joined(subject.shop()) as peer:
        write(peer, "Hello", headers={"name": "Oak"})
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect(found, [], "What is found by a name")


# calls


@FAMILY.judges("D-10/history-search-call", needs=["calls"], each=LOGINS)
def a_call_is_started_and_ended(subject: Subject, login: str) -> None:
    """A call rings, and ends."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        ringing = peer.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        ended = peer.granted({"type": "call", "id": "c-2", "action": "end"}, "call")

    expect((ringing["state"], ended["state"]), ("ringing", "ended"), "The states of the call")
    expect(ended["call_id"], ringing["call_id"], "call_id of the end")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_conversation_has_one_call_at_a_time(subject: Subject) -> None:
    """`start` while one is on is answered with that one; its end is told to all, and the next is another."""
    shop = subject.shop()
    with subject.joined(shop) as peer, subject.joined(shop) as other:
        first = peer.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        told = other.next()
        same = other.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        ended = other.granted({"type": "call", "id": "c-3", "action": "end"}, "call")
        after = other.granted({"type": "call", "id": "c-4", "action": "start"}, "call")

    expect((told["type"], told.get("call_id")), ("call", first["call_id"]), "What the other tab hears of the call")
    expect_that("id" not in told, "What another tab is told of a call answers no id")
    expect((same["call_id"], same["state"]), (first["call_id"], "ringing"), "The answer to a second start")
    expect((ended["call_id"], ended["state"]), (first["call_id"], "ended"), "The answer to the end")
    expect_that(after["call_id"] != first["call_id"], "The next call has the id of the one before")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def who_calls_hears_the_answer_alone(subject: Subject) -> None:
    """The change of a call is told to all other sockets, once, and not to the one that made it."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        mine = []
        for number, action in enumerate(("start", "end")):
            one.say({"type": "call", "id": f"c-{number}", "action": action})
            mine += [(frame["type"], frame.get("id")) for frame in until_pong(one, "call")]
        theirs = [frame.get("state") for frame in (other.next(), other.next(), *until_pong(other))]

    expect(mine, [("call", "c-0"), ("call", "c-1")], "What the tab that calls hears")
    expect(theirs, ["ringing", "ended"], "The states of the call that the other tab hears")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_call_that_is_asked_for_again_is_told_again(subject: Subject) -> None:
    """Where a `start` asks for what is so already, all other sockets are told once more."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        call = one.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        one.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        heard = [(frame.get("call_id"), frame.get("state")) for frame in (other.next(), other.next())]

    expect(heard, [(call["call_id"], "ringing")] * 2, "What the other tab hears of a call that is asked for twice")


@FAMILY.judges("D-10/history-search-call", "D-11/keyed", needs=["calls"])
def a_call_is_of_ones_own_conversation(subject: Subject) -> None:
    """Nobody ends or hears of the call of somebody else."""
    with subject.joined(subject.shop()) as mine, subject.joined(subject.shop()) as theirs:
        mine.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        heard = until_pong(theirs)
        _stays(theirs, {"type": "call", "action": "end"}, "call_unknown")

    expect(heard, [], "What somebody else hears of a call")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_call_outlives_a_tab_that_is_not_the_last(subject: Subject) -> None:
    """A call goes on while a socket of its identity is open, whichever began it."""
    shop = subject.shop()
    with subject.joined(shop) as other:
        with subject.joined(shop) as one:
            call = one.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        threading.Event().wait(1)  # the service may hear a little later that it is gone
        same = other.granted({"type": "call", "id": "c-2", "action": "start"}, "call")

    expect(same["call_id"], call["call_id"], "call_id after another tab was closed")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_call_ends_with_the_last_socket_of_its_identity(subject: Subject) -> None:
    """A call ends by itself when nobody of its identity is connected."""
    shop = subject.shop()
    calls = set()
    for _ in range(TRIES):  # the service may hear a little later that the last socket is gone
        with subject.joined(shop) as peer:
            calls.add(peer.granted({"type": "call", "id": "c-1", "action": "start"}, "call")["call_id"])
        if len(calls) > 1:
            return
        threading.Event().wait(1)
    expect_that(False, "A call outlives the last socket of its identity")


# refusals

UNFIT: dict[str, Json] = {
    "limit-0": {"type": "history", "id": "h-1", "limit": 0},
    "limit-51": {"type": "history", "id": "h-1", "limit": 51},
    "before-0": {"type": "history", "id": "h-1", "before": 0},
    "id-with-a-space": {"type": "history", "id": "h 1"},
    "id-of-65": {"type": "history", "id": "h" * 65},
    "no-id": {"type": "history"},
    "empty-id": {"type": "history", "id": ""},
    "id-number": {"type": "message", "id": 5, "body": "Hello"},
    "limit-text": {"type": "history", "id": "h-1", "limit": "20"},
    "limit-fraction": {"type": "history", "id": "h-1", "limit": 20.5},
    "headers-text": {"type": "message", "id": "m-1", "body": "Hello", "headers": "Ada"},
    "name-number": {"type": "message", "id": "m-1", "body": "Hello", "headers": {"name": 5}},
    "no-query": {"type": "search", "id": "s-1"},
    "no-action": {"type": "call", "id": "c-1"},
    "body-number": {"type": "message", "id": "m-1", "body": 5},
    "no-body": {"type": "message", "id": "m-1"},
    "unknown": {"type": "typing", "id": "t-1"},
    "no-type": {"id": "t-1"},
    "half-a-pair": {"type": "message", "id": "m-1", "body": "\ud83e"},
}


@FAMILY.judges("D-10/frame-schema", each=UNFIT, page="socket.md#refusals")
def a_frame_that_does_not_fit_ends_the_connection(subject: Subject, frame: Json) -> None:
    """A frame that does not fit its schema is `frame_invalid`, 4400, in spite of its `id`."""
    with subject.joined(subject.shop()) as peer:
        peer.say(frame)
        peer.end().refused("frame_invalid", 4400)


@FAMILY.judges("D-10/frame-schema", needs=["calls"], page="socket.md#refusals")
def an_action_that_there_is_not_ends_the_connection(subject: Subject) -> None:
    """An `action` that there is not is `frame_invalid`."""
    with subject.joined(subject.shop()) as peer:
        peer.say({"type": "call", "id": "c-1", "action": "foo"})
        peer.end().refused("frame_invalid", 4400)


def _stays(peer: Peer, frame: Json, code: str) -> None:
    answer = peer.ask({**frame, "id": "f-1"})
    came = (answer["type"], answer.get("code"), answer.get("id"))
    expect(came, ("error", code, "f-1"), "type, code and id of the answer")
    peer.granted({"type": "ping"}, "pong")


@FAMILY.judges(
    "D-10/frame-schema",
    page="socket.md#refusals",
    each={
        "empty": ({"type": "message", "body": ""}, "parameter_invalid"),
        "white-space": ({"type": "message", "body": " \n"}, "parameter_invalid"),
        "wide-space": ({"type": "message", "body": "\u00a0\u3000"}, "parameter_invalid"),
        "separators": ({"type": "message", "body": "\u2028\u001c"}, "parameter_invalid"),
        "next-line": ({"type": "message", "body": "\u0085"}, "parameter_invalid"),
        "nul": ({"type": "message", "body": "a\0b"}, "parameter_invalid"),
    },
)
def what_fits_and_cannot_be_done_is_answered_and_the_socket_stays(subject: Subject, frame: Json, code: str) -> None:
    """What cannot be done is answered with its `id`, and the socket stays."""
    with subject.joined(subject.shop()) as peer:
        _stays(peer, frame, code)


@FAMILY.judges(
    "D-10/frame-schema", needs=["search"], page="socket.md#refusals", each={"nothing": "", "space": " ", "nul": "a\0"}
)
def an_empty_search_is_answered_and_the_socket_stays(subject: Subject, query: str) -> None:
    """A search for nothing, or with a NUL character, is `parameter_invalid`."""
    with subject.joined(subject.shop()) as peer:
        _stays(peer, {"type": "search", "query": query}, "parameter_invalid")


@FAMILY.judges("D-10/frame-schema", needs=["calls"], page="socket.md#refusals")
def the_end_of_no_call_is_answered_and_the_socket_stays(subject: Subject) -> None:
    """The end of a call that there is not is `call_unknown`."""
    with subject.joined(subject.shop()) as peer:
        _stays(peer, {"type": "call", "action": "end"}, "call_unknown")


SIZES: dict[str, tuple[str, str, str]] = {
    "body": ("message", "message_chars", "x"),
    "name": ("message", "name_chars", "x"),
    "query": ("search", "search_chars", "x"),
    "body-of-code-points": ("message", "message_chars", "\N{FOX FACE}"),
    "name-of-code-points": ("message", "name_chars", "\N{FOX FACE}"),
    "query-of-code-points": ("search", "search_chars", "\N{FOX FACE}"),
}


@FAMILY.judges("D-10/frame-schema", each=SIZES, page="limits.md#limits")
def a_text_has_so_many_characters_and_no_more(subject: Subject, kind: str, limit: str, letter: str) -> None:
    """A text of the limit is taken, and a longer one is `too_large` with its `id`; a character is a code point."""
    if kind == "search":
        subject.needs("search")
    most = int(getattr(subject.limits, limit))
    subject.within(len(json.dumps(letter)) * most + 300, "frame_bytes")

    def frame(size: int) -> dict[str, Any]:
        text = letter * size
        if limit == "name_chars":
            return {"type": kind, "body": "Hello", "headers": {"name": text}}
        return {"type": kind, ("query" if kind == "search" else "body"): text}

    with subject.joined(subject.shop()) as peer:
        peer.granted({**frame(most), "id": "f-0"}, "search" if kind == "search" else "ack")
        _stays(peer, frame(most + 1), "too_large")


# records


@FAMILY.judges("2.7/custom-on-first", needs=["member-records"], page="protocol.md#endpoints")
def a_custom_members_record_is_made_with_the_first_message(subject: Subject) -> None:
    """A custom member has a record from the first message on, with the name of the frame's header."""
    shop = subject.shop()

    def mine() -> list[Json]:
        return [
            member for member in subject.world.businesses.members(shop.business) if member.get("uid") == shop.member
        ]

    with subject.joined(shop) as peer:
        before = mine()
        write(peer, "Hello", headers={"name": "Grace"})
        after = mine()

    expect(before, [], "The records of a member who wrote nothing")
    expect([member.get("name") for member in after], ["Grace"], "The names in the records of a member who wrote")


@FAMILY.judges("2.7/custom-on-first", needs=["member-records"], page="protocol.md#endpoints")
def a_visitor_has_no_record(subject: Subject) -> None:
    """A visitor who writes has no member's record."""
    shop = subject.shop()
    with subject.joined(shop, shop.visitor_token()) as peer:
        write(peer, "Hello")
    uids = {member.get("uid") for member in subject.world.businesses.members(shop.business)}

    expect_that(shop.key.uid not in uids, "A visitor has a member's record")
