import time
from contextlib import suppress

import pytest

from chatkey_server.identity import encoding


def test_finding_a_repeated_member_takes_linear_time() -> None:
    """An unauthenticated peer may send a 64 kB frame.

    An earlier version compared each name with all others, which took three seconds.
    """

    def spent(last: str) -> float:
        raw = ("{" + ",".join(f'"{number:x}":1' for number in range(7000)) + f',"{last}":1}}').encode()
        started = time.process_time()
        with suppress(encoding.Malformed):
            encoding.json_object(raw)
        return time.process_time() - started

    assert min(spent("1b57") for _ in range(5)) < 10 * min(spent("other") for _ in range(5))


def test_the_first_member_that_repeats_is_the_one_named() -> None:
    with pytest.raises(encoding.Malformed, match="member 'a' occurs twice"):
        encoding.json_object(b'{"a":1,"b":2,"c":3,"b":4,"a":5}')
