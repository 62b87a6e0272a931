"""Reads the ICE candidates of a call (RFC 8839 section 5.1)."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

_CANDIDATE: Final = re.compile(
    r"candidate:\S+ \d+ udp \d+ (?P<address>\S+) (?P<port>\d+) typ host(?:\s|$)", re.IGNORECASE | re.ASCII
)


class Candidate(NamedTuple):
    """A host candidate over UDP. Its address may be a name that ends in `.local`, which hides the address (mDNS)."""

    address: str
    port: int


def host_candidates(text: str) -> Iterator[Candidate]:
    """Find the host candidates over UDP in a session description, or in one candidate."""
    for found in _CANDIDATE.finditer(text):
        yield Candidate(found["address"], int(found["port"]))


def dropped(given: Iterable[str], used_ports: Collection[int]) -> set[str]:
    """Return the addresses of the host candidates that the browser was given and does not use.

    A browser may hide the addresses of the candidates that it uses, but not their ports.
    """
    return {
        candidate.address for text in given for candidate in host_candidates(text) if candidate.port not in used_ports
    }
