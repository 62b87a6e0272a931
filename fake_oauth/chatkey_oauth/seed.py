"""The seed file, `chatkey-fake.toml`: applications, people, claims, switches, lifetimes and faults of a fake.

`--init` writes an example, and the lab exports the present state.
"""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.engine.people import SEEDED, Person
from chatkey_oauth.faults.rules import Order
from chatkey_oauth.providers import check_client
from chatkey_oauth.settings import SettingsError, check_provider, check_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from chatkey_oauth.fake import Fake

NAME: Final = "chatkey-fake.toml"

EXAMPLE: Final = """\
# The seed file of chatkey fake-oauth. Start the fake with it: chatkey fake-oauth --seed chatkey-fake.toml
# Without applications, the fake has the ready-made applications.

# auto_approve = "rhea"

[[applications]]
provider = "oidc"
client_id = "my-app"
client_secret = "only-for-tests"
name = "My App"
redirect_uris = ["http://localhost:3000/callback"]
any_loopback = true

[[people]]
id = "ada"
name = "Ada Lovelace"
email = "ada@example.com"
claims = { groups = ["staff"] }

# Claims at oidc by account, or under "*" for everybody.
[claims."*"]
locale = "en"

[switches]
"discord.iss" = false

# Lifetimes at oidc, in seconds.
[lifetimes]
access = 3600

# Faults are armed when the fake starts, and after a reset.
# [[faults]]
# fault = "status-500"
# times = 1
# scope = { provider = "oidc" }
# with = { leg = "token" }
"""


class Seed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a seed file. Without `applications`, the fake has the ready-made ones."""

    applications: tuple[Client, ...] | None = None
    people: tuple[Person, ...] = ()
    claims: dict[str, dict[str, Any]] = {}
    switches: dict[str, bool] = {}
    lifetimes: dict[str, int] = {}
    faults: tuple[Order, ...] = ()
    auto_approve: str = ""


def read_seed(path: Path) -> Seed:
    """Read a seed file. Raises `SettingsError`, which names the file and the invalid member."""
    try:
        seed = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Seed)
        for client in seed.applications or ():
            check_provider(f"The seed file {path}, application {client.client_id!r}", client.provider)
            check_client(client)
    except OSError as error:
        raise SettingsError(f"The seed file {path} cannot be read: {error.strerror}.") from error
    except (msgspec.ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError, ClientError) as error:
        raise SettingsError(f"The seed file {path} is not valid: {error}.") from error
    for name, seconds in seed.lifetimes.items():
        check_seconds(f"The seed file {path}, lifetimes", name, str(seconds))
    return seed


def write_example(path: Path) -> None:
    """Write the example. Raises `SettingsError` if the file exists or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE)
    except FileExistsError:
        raise SettingsError(f"{path} already exists. Delete it first, or edit it.") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}.") from error


def exported(fake: Fake) -> str:
    """Return the present state of a fake as a seed file. The file contains the secrets of the applications.

    Faults without a limit of their hits get the largest possible number.
    """
    rules = [rule for rule in reversed(fake.faults.rules()) if not rule.spent]
    orders = [
        Order(fault=rule.fault, scope=rule.scope, times=(rule.times or MOST) - rule.hits, with_=rule.with_)
        for rule in rules
    ]
    initial = {person.id: person for person in SEEDED}
    changed = [person for person in fake.world.people.all() if person != initial.get(person.id)]
    switches = {position.key: position.on for position in fake.world.switches.all() if position.on != position.default}
    approval = fake.world.approval.account
    return "".join(
        (
            *([f"auto_approve = {toml(approval)}\n"] if approval else []),
            *(table("[applications]", msgspec.to_builtins(client)) for client in fake.world.clients.all()),
            *(table("[people]", msgspec.to_builtins(person)) for person in changed),
            *([table("switches", switches)] if switches else []),
            *([table("lifetimes", dict(fake.world.lifetimes))] if fake.world.lifetimes else []),
            *(table("[faults]", msgspec.to_builtins(order)) for order in orders),
        )
    )


MOST: Final = 1_000_000
"""The largest number of hits of a fault."""


def table(name: str, members: Mapping[str, Any]) -> str:
    return "\n".join((f"\n[{name}]", *pairs(members), ""))


def pairs(members: Mapping[str, Any]) -> Iterator[str]:
    return (f"{toml(key)} = {toml(value)}" for key, value in members.items() if value is not None)


def toml(value: object) -> str:
    """Return a value of JSON as TOML. TOML has no null, so members that are null are left out."""
    if isinstance(value, dict):
        return f"{{ {', '.join(pairs(value))} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(one) for one in value if one is not None)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
