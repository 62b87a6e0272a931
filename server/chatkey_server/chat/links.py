"""Creates the fan-out and the shared counters over Redis. Both are None if no Redis is configured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chatkey_server.chat.seal import Seal
from chatkey_server.settings import SettingsError

if TYPE_CHECKING:
    from chatkey_server.chat.hub import Link
    from chatkey_server.limits.counting import Tally


def link_of(redis_url: str, keys: Sequence[bytes]) -> Link | None:
    """Return the deployment's link through Redis, or None if no Redis is configured.

    Deployments with different `keys` can share a Redis.
    """
    if not redis_url:
        return None
    try:
        from chatkey_server.chat.redis_link import RedisLink  # noqa: PLC0415 - redis is an optional package
    except ModuleNotFoundError as error:
        raise SettingsError("CHATKEY_REDIS_URL needs the redis package: pip install 'chatkey[redis]'") from error
    return RedisLink(redis_url, keys)


def tally_of(redis_url: str, keys: Sequence[bytes]) -> Tally | None:
    """Return counters that all processes share through Redis, or None without Redis. `keys` keep deployments apart."""
    if not redis_url:
        return None
    from chatkey_server.limits.redis_tally import RedisTally  # noqa: PLC0415 - redis is an optional package

    seal = Seal(keys)
    return RedisTally(redis_url, lambda name: seal.names(name)[0])
