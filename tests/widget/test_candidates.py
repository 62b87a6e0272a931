"""Tests of reading ICE candidates, and of finding those that the browser does not use."""

import pytest

from chatkey_widget.candidates import Candidate, dropped, host_candidates

IPV4 = "candidate:1 1 udp 2122260223 192.168.1.7 50000 typ host generation 0"
IPV6 = "candidate:2 1 UDP 2122260223 fd00::2 50001 typ host"
HIDDEN = "candidate:3 1 udp 2122260223 0b1c-4d.local 50002 typ host generation 0"
RELAYED = "candidate:4 1 udp 41885439 203.0.113.9 3478 typ relay raddr 192.168.1.7 rport 50000"
REFLEXIVE = "candidate:5 1 udp 1686052607 198.51.100.4 50000 typ srflx raddr 192.168.1.7 rport 50000"
CLOSED_TCP = "candidate:6 1 tcp 1518280447 192.168.1.7 9 typ host tcptype active"
SDP = "\r\n".join(["v=0", "m=audio 9 x 111", f"a={IPV4}", f"a={IPV6}", f"a={RELAYED}", ""])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (IPV4, [Candidate("192.168.1.7", 50000)]),
        (IPV6, [Candidate("fd00::2", 50001)]),
        (HIDDEN, [Candidate("0b1c-4d.local", 50002)]),
        (RELAYED, []),
        (REFLEXIVE, []),
        (CLOSED_TCP, []),
        (SDP, [Candidate("192.168.1.7", 50000), Candidate("fd00::2", 50001)]),
        ("candidate:1 1 udp 1 192.168.1.7 x typ host", []),
        ("", []),
    ],
    ids=["ipv4", "ipv6", "mdns", "relay", "srflx", "tcp", "sdp", "no port", "empty"],
)
def test_host_candidates_are_found_in_descriptions_and_candidates(text: str, found: list[Candidate]) -> None:
    assert list(host_candidates(text)) == found


@pytest.mark.parametrize(
    ("used", "missing"),
    [
        ({50000, 50001, 50002}, set()),
        ({50000}, {"fd00::2", "0b1c-4d.local"}),
        (set(), {"192.168.1.7", "fd00::2", "0b1c-4d.local"}),
    ],
)
def test_candidates_whose_port_no_statistic_shows_were_dropped(used: set[int], missing: set[str]) -> None:
    """F250, F252: the browser hides the addresses of mDNS candidates, so only the ports can be compared."""
    assert dropped([SDP, HIDDEN], used) == missing
