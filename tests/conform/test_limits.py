"""What a target's limits are taken for, where it does not say, is what the profile says."""

import msgspec

from chatkey_e2e.conform.limits import Limits
from chatkey_server.settings import Limits as Served


def test_the_limits_of_a_target_are_the_profiles_until_it_says_otherwise() -> None:
    """Both are written down, for the suite imports no server; docs/limits.md is made from the server's."""
    taken, served = msgspec.to_builtins(Limits()), msgspec.to_builtins(Served())

    assert taken == {name: served[name] for name in taken}
