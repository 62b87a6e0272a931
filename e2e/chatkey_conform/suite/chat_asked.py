"""Requests about a conversation, which work in the same way in every mode: history, search and calls."""

from __future__ import annotations

import threading

from chatkey_conform.judging.verdict import expect, expect_that
from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite import chat
from chatkey_conform.suite.chat import LOGINS, history, stays, token_of, until_pong, write

FAMILY = chat.FAMILY
TRIES = 4


# history


@FAMILY.judges("D-10/history-search-call")
def history_is_paged(subject: Subject) -> None:
    """`limit` and `before` select pages of the history in the order of `seq`."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        seqs = [write(peer, f"Number {number}", number)["seq"] for number in range(5)]
        newest = history(peer, limit=2)
        older = history(peer, limit=2, before=seqs[3])
        rest = history(peer, before=seqs[1])
        filled = history(peer, limit=3, before=seqs[3])
        pages = (newest, older, rest, filled)

    found = [[message["seq"] for message in page["messages"]] for page in pages]
    expect(found, [seqs[3:], seqs[1:3], seqs[:1], seqs[:3]], "seq of the messages on each page")
    expect([page["more"] for page in pages], [True, True, False, False], "`more` of each page")


@FAMILY.judges("D-10/history-search-call")
def history_has_50_messages_at_most_and_knows_its_ends(subject: Subject) -> None:
    """A history page has at most 50 messages, and `before` works at both ends of the conversation."""
    with subject.joined(subject.shop()) as peer:
        seqs = [write(peer, "Hello", number)["seq"] for number in range(51)]
        newest, first = history(peer), history(peer, before=seqs[0])
        beyond = history(peer, before=2**31 - 1, limit=50)

    expect_that(seqs == sorted(set(seqs)) and seqs[0] >= 1, "The seq numbers do not increase, or start below 1")
    for page, wanted, more in ((newest, seqs[1:], True), (first, [], False), (beyond, seqs[1:], True)):
        expect([message["seq"] for message in page["messages"]], wanted, "seq of the messages on a page")
        expect(page["more"], more, "`more` of a page")


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
    """A search finds any part of a body, ignores letter case and how accents are encoded, and respects accents."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        write(peer, "N\u1d52\u00b9: Das Caf\u00e9 in der Langen Stra\u00dfe")
        found = peer.granted({"type": "search", "id": "s-1", "query": query}, "search")["messages"]

    expect(len(found), count, f"The number of messages found by {query!r}")


@FAMILY.judges("D-10/history-search-call", "1/same-chat", needs=["search"], each=LOGINS)
def a_search_stays_in_ones_own_conversation(subject: Subject, login: str) -> None:
    """A search finds only messages of the person's own conversation."""
    shop, other = subject.shop(), subject.shop()
    with subject.joined(other) as peer:
        write(peer, "The oak table of somebody else")
    with subject.joined(shop, token_of(shop, login)) as peer:
        write(peer, "My oak table")
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect([message["body"] for message in found], ["My oak table"], "The messages found")


@FAMILY.judges("D-10/history-search-call", needs=["search"])
def a_search_tells_the_newest_50_in_their_order(subject: Subject) -> None:
    """If more than 50 messages match, a search returns the newest 50 in the order of `seq`."""
    with subject.joined(subject.shop()) as peer:
        seqs = [write(peer, "An oak", number)["seq"] for number in range(51)]
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect([message["seq"] for message in found], seqs[1:], "seq of the messages found")


@FAMILY.judges("D-10/history-search-call", needs=["search"])
def a_search_covers_the_whole_conversation(subject: Subject) -> None:
    """A search finds a message that is older than the newest 50 messages."""
    with subject.joined(subject.shop()) as peer:
        seq = write(peer, "An oak", 0)["seq"]
        for number in range(1, 52):
            write(peer, "Hello", number)
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect([message["seq"] for message in found], [seq], "seq of the messages found")


@FAMILY.judges("D-10/history-search-call", needs=["search"])
def a_search_looks_at_bodies_alone(subject: Subject) -> None:
    """A search does not include the names of the senders."""
    with subject.joined(subject.shop()) as peer:
        write(peer, "Hello", headers={"name": "Oak"})
        found = peer.granted({"type": "search", "id": "s-1", "query": "oak"}, "search")["messages"]

    expect(found, [], "The messages found by a sender's name")


# calls


@FAMILY.judges("D-10/history-search-call", needs=["calls"], each=LOGINS)
def a_call_is_started_and_ended(subject: Subject, login: str) -> None:
    """A call can be started and ended."""
    shop = subject.shop()
    with subject.joined(shop, token_of(shop, login)) as peer:
        ringing = peer.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        ended = peer.granted({"type": "call", "id": "c-2", "action": "end"}, "call")

    expect((ringing["state"], ended["state"]), ("ringing", "ended"), "The states of the call")
    expect(ended["call_id"], ringing["call_id"], "call_id of the answer to `end`")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_conversation_has_one_call_at_a_time(subject: Subject) -> None:
    """A second `start` returns the call in progress, and after `end`, `start` begins a new call."""
    shop = subject.shop()
    with subject.joined(shop) as peer, subject.joined(shop) as other:
        first = peer.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        told = other.next()
        same = other.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        ended = other.granted({"type": "call", "id": "c-3", "action": "end"}, "call")
        after = other.granted({"type": "call", "id": "c-4", "action": "start"}, "call")

    expect(
        (told["type"], told.get("call_id")),
        ("call", first["call_id"]),
        "type and call_id of the frame that the other tab receives",
    )
    expect_that("id" not in told, "The call frame that the other tab receives has an `id`")
    expect(
        (same["call_id"], same["state"]),
        (first["call_id"], "ringing"),
        "call_id and state of the answer to the second `start`",
    )
    expect((ended["call_id"], ended["state"]), (first["call_id"], "ended"), "call_id and state of the answer to `end`")
    expect_that(after["call_id"] != first["call_id"], "The next call has the call_id of the one before")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def who_calls_hears_the_answer_alone(subject: Subject) -> None:
    """The socket that starts or ends a call receives only the answer, and every other socket is notified once."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        mine = []
        for number, action in enumerate(("start", "end")):
            one.say({"type": "call", "id": f"c-{number}", "action": action})
            mine += [(frame["type"], frame.get("id")) for frame in until_pong(one, "call")]
        theirs = [frame.get("state") for frame in (other.next(), other.next(), *until_pong(other))]

    expect(mine, [("call", "c-0"), ("call", "c-1")], "type and id of the frames that the calling tab receives")
    expect(theirs, ["ringing", "ended"], "The call states that the other tab receives")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_call_that_is_asked_for_again_is_told_again(subject: Subject) -> None:
    """A second `start` for the same call notifies the other sockets again."""
    shop = subject.shop()
    with subject.joined(shop) as one, subject.joined(shop) as other:
        call = one.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        one.granted({"type": "call", "id": "c-2", "action": "start"}, "call")
        heard = [(frame.get("call_id"), frame.get("state")) for frame in (other.next(), other.next())]

    expect(heard, [(call["call_id"], "ringing")] * 2, "call_id and state of the frames that the other tab receives")


@FAMILY.judges("D-10/history-search-call", "D-11/keyed", needs=["calls"])
def a_call_is_of_ones_own_conversation(subject: Subject) -> None:
    """Nobody can end another person's call or be notified of another person's call."""
    with subject.joined(subject.shop()) as mine, subject.joined(subject.shop()) as theirs:
        mine.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        heard = until_pong(theirs)
        stays(theirs, {"type": "call", "action": "end"}, "call_unknown")

    expect(heard, [], "The frames that another person receives")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_call_outlives_a_tab_that_is_not_the_last(subject: Subject) -> None:
    """A call continues while any socket of its identity is open, even if the tab that started the call was closed."""
    shop = subject.shop()
    with subject.joined(shop) as other:
        with subject.joined(shop) as one:
            call = one.granted({"type": "call", "id": "c-1", "action": "start"}, "call")
        threading.Event().wait(1)  # the service may notice the close a little later
        same = other.granted({"type": "call", "id": "c-2", "action": "start"}, "call")

    expect(same["call_id"], call["call_id"], "call_id after the tab that started the call was closed")


@FAMILY.judges("D-10/history-search-call", needs=["calls"])
def a_call_ends_with_the_last_socket_of_its_identity(subject: Subject) -> None:
    """A call ends when the last socket of the caller's identity closes."""
    shop = subject.shop()
    calls = set()
    for _ in range(TRIES):  # the service may notice the close a little later
        with subject.joined(shop) as peer:
            calls.add(peer.granted({"type": "call", "id": "c-1", "action": "start"}, "call")["call_id"])
        if len(calls) > 1:
            return
        threading.Event().wait(1)
    expect_that(False, "The call continues after the last socket of its identity was closed")
