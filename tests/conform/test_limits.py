"""If a TARGET.toml does not state a limit, the suite uses the profile's value."""

import msgspec

from chatkey_conform.limits import Limits
from chatkey_server.settings import Limits as Served


def test_the_limits_of_a_target_are_the_profiles_until_it_says_otherwise() -> None:
    """The suite has its own copy because it imports no server. docs/limits.md is generated from the server's limits."""
    taken, served = msgspec.to_builtins(Limits()), msgspec.to_builtins(Served())

    assert taken == {name: served[name] for name in taken}
