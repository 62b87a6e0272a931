"""Reads and checks TARGET.toml, which describes the service under test, before any request is sent."""

from __future__ import annotations

import os
import ssl
import tomllib
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from chatkey_conform.capabilities import declared
from chatkey_conform.data import published, revisions
from chatkey_peer.known import KnownError, read_known
from chatkey_protocol.limits import Limits
from chatkey_protocol.names import REVISION

Grade = Literal["prepared", "command", "lab"]
MOST_PREPARED: Final = 3


class TargetError(Exception):
    """TARGET.toml cannot be used. The message names the file and the member, and says what to write instead."""


class _Base(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Service(_Base, frozen=True, kw_only=True):
    """The table [target]: the addresses of the service, and its capabilities.

    Cases that were added to the revision after `date` do not count; by default, that is the day of its publication.
    Without `have`, the adapter declares the capabilities. `restart` is a command that restarts the service. It must
    exit only after the old process has ended.
    """

    name: str
    version: str = ""
    base_url: str
    local_url: str = ""
    assets_url: str = ""
    ca_file: str = ""
    revision: int = REVISION
    date: str = ""
    restart: list[str] = []
    have: list[str] | None = None


class Prepared(_Base, frozen=True, kw_only=True):
    """A business that was created by hand. Its secret is in the environment. `socials` are its social logins."""

    id: str
    secret_key_env: str
    origins: list[str]
    socials: list[str] | None = None


class Businesses(_Base, frozen=True, kw_only=True):
    """The table [businesses]: which of the three grades supplies the businesses."""

    grade: Grade
    prepared: list[Prepared] = []
    command: list[str] = []
    url: str = ""
    token_env: str = ""


class KnownFailures(_Base, frozen=True, kw_only=True):
    """The table [known_failures]: a file with ids of sentences or tests, each with the reason for its failure."""

    file: str = ""


class Driver(_Base, frozen=True, kw_only=True):
    """The table [widget]: a third-party widget, with the URL of its script and the selectors of its parts."""

    script_url: str = ""
    selectors: dict[str, str] = {}


class Social(_Base, frozen=True, kw_only=True):
    """The table [social]: the address at which the service expects the social providers, and its applications there.

    The suite's fake provider listens at `url` with the given certificate. Below `url`, each provider has a path with
    its name. `clients` names a file with the applications (in the format of `chatkey fake-oauth --clients`).
    """

    url: str = ""
    clients: str = ""
    tls_cert: str = ""
    tls_key: str = ""


class Document(_Base, frozen=True, kw_only=True):
    """The whole file TARGET.toml."""

    target: Service
    businesses: Businesses
    limits: dict[str, int] = {}
    known_failures: KnownFailures = KnownFailures()
    widget: Driver | None = None
    social: Social = Social()


@dataclass(frozen=True)
class Target:
    """A target: the parsed document, and the folder to which the paths in the document are relative."""

    document: Document
    folder: Path = field(default_factory=Path.cwd)

    @property
    def service(self) -> Service:
        return self.document.target

    @property
    def name(self) -> str:
        """The target's name and version."""
        return " ".join(part for part in (self.service.name, self.service.version) if part)

    @property
    def date(self) -> str:
        """The date after which added cases do not count."""
        return self.service.date or published(self.service.revision)

    @property
    def base_url(self) -> str:
        """The address that browsers use, without a trailing slash."""
        return self.service.base_url.rstrip("/")

    @property
    def local_url(self) -> str:
        """The address at which the suite connects to the service."""
        return self.service.local_url.rstrip("/") or self.base_url

    @property
    def ca_file(self) -> Path | None:
        """The file of certificates that are trusted in addition to the system's."""
        return self.folder / self.service.ca_file if self.service.ca_file else None

    def trust(self) -> ssl.SSLContext:
        """Return the TLS context for the target, which trusts the system's certificates and those of `ca_file`."""
        context = ssl.create_default_context()
        if self.ca_file is not None:
            context.load_verify_locations(self.ca_file)
        return context

    @property
    def limits(self) -> Limits:
        """The limits of the profile, changed by the table [limits]."""
        return Limits(**self.document.limits)

    def secrets(self) -> frozenset[str]:
        """Return the secrets that the file names, from the environment."""
        given = self.document.businesses
        names = (given.token_env, *(business.secret_key_env for business in given.prepared))
        return frozenset(os.environ[name] for name in names if os.environ.get(name))

    def known_failures(self) -> dict[str, str]:
        """Return the reasons for the known failures, by the ids of sentences or tests. Raises `TargetError`."""
        return known_failures(self.folder, self.document.known_failures)


def known_failures(folder: Path, given: KnownFailures) -> dict[str, str]:
    """Return the reasons in a file of known failures, whose path is relative to `folder`. Raises `TargetError`."""
    try:
        return read_known(folder / given.file) if given.file else {}
    except KnownError as error:
        raise TargetError(str(error)) from None


def read_target(path: Path) -> Target:
    """Read a TARGET.toml. Raises `TargetError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TargetError(f"Cannot read {path}: {error.strerror}.") from None
    try:
        document = msgspec.convert(tomllib.loads(text), Document)
        _check(document)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise TargetError(f"{path}: {error}.") from None
    return Target(document, path.resolve().parent)


def _check(document: Document) -> None:
    service, businesses = document.target, document.businesses
    declared(service.have or ())
    for name in ("base_url", "local_url", "assets_url"):
        _check_address(f"target.{name}", getattr(service, name), needed=name == "base_url")
    if service.revision not in revisions():
        known = " and ".join(map(str, revisions()))
        raise ValueError(f"target.revision is {service.revision}; write a revision that this suite scores: {known}")
    if service.date:
        date.fromisoformat(service.date)
    if unknown := sorted(document.limits.keys() - {field.name for field in fields(Limits)}):
        raise ValueError(f"[limits] has {unknown[0]!r}, which is not a limit of the profile")
    needed = {"prepared": businesses.prepared, "command": businesses.command, "lab": businesses.url}
    if not needed[businesses.grade]:
        missing = {"prepared": "[[businesses.prepared]]", "command": "command", "lab": "url"}[businesses.grade]
        raise ValueError(f"businesses.grade is {businesses.grade!r}, so [businesses] needs {missing}")
    if len(businesses.prepared) > MOST_PREPARED:
        raise ValueError(f"{len(businesses.prepared)} prepared businesses are listed; list at most {MOST_PREPARED}")
    if businesses.grade == "prepared" and service.have is None:
        raise ValueError("target.have is missing; with prepared businesses it must list the capabilities")
    for business in businesses.prepared:
        if not business.origins:
            raise ValueError(f"the prepared business {business.id!r} has no origins; name at least one")


def _check_address(name: str, text: str, *, needed: bool) -> None:
    if not text and not needed:
        return
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(
            f"{name} is {text!r}; write an http or https URL without a query, such as https://chat.example"
        )
