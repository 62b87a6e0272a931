"""The options of `chatkey check`, each declared once.

The command line, the pytest plugin, the documentation and the lists in reports are built from this table. Every pytest
run with chatkey installed imports this module, so this module imports very little.
"""
# ruff: noqa: RUF009 - what is called in the defaults is `dataclasses.field`, with a description

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from chatkey_check import reports
from chatkey_check.defaults import RESULTS, TIMEOUT

OPTION: Final = "option"


class Kind(StrEnum):
    """The kind of an option's value. The help text shows the kind as a word."""

    ID = "ID"
    NAME = "NAME"
    URL = "URL"
    ORIGIN = "ORIGIN"
    HEADER = "HEADER"
    """`Name: value`, whose value is secret, or `@FILE`."""
    FIELD = "NAME=VALUE"
    """The value is secret."""
    PAIR = "NAME=TEXT"
    """The value is not secret."""
    VARIABLE = "NAME=VARIABLE"
    ADDRESS = "HOST=ADDRESS"
    PATTERN = "PATTERN"
    PATH = "PATH"
    SECONDS = "SECONDS"
    CHOICE = "CHOICE"
    METHOD = "METHOD"
    BODY = "BODY"
    PLACE = "PLACE"
    SELECTOR = "SELECTOR"
    FLAG = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. It fills the field of `Given` with the same name, and has the default of that field."""

    kind: Kind
    help: str
    many: bool = False
    """Whether the option may be given more than once."""
    choices: tuple[str, ...] = ()
    short: str = ""
    in_pytest: bool = True
    """Whether the pytest plugin offers the option, too."""
    in_report: bool = True
    """Whether a report lists the option with its value."""
    field: str = ""
    default: Any = None
    group: str = ""
    """The group that the option belongs to: one word, and an explanation in parentheses."""

    @property
    def table(self) -> str:
        """The option's table in an options file."""
        return self.group.partition(" ")[0].lower()

    @property
    def name(self) -> str:
        """The option's name, without the leading dashes."""
        return self.field.replace("_", "-")


def one(kind: Kind, text: str, default: object = None, **about: Any) -> Any:
    """Declare an option that can be given once."""
    return field(default=default, metadata={OPTION: Option(kind, text, **about)})


def many(kind: Kind, text: str, **about: Any) -> Any:
    """Declare an option that can be given more than once."""
    return field(default=(), metadata={OPTION: Option(kind, text, many=True, **about)})


def flag(text: str, *, default: bool = False, **about: Any) -> Any:
    """Declare a switch. A switch that is on by default can be switched off with --no-."""
    return field(default=default, metadata={OPTION: Option(Kind.FLAG, text, **about)})


@dataclass(frozen=True, kw_only=True)
class OfTarget:
    """Target (the endpoint and its settings)."""

    provider_id: str | None = one(Kind.ID, "Your provider id.")
    secret_env: str | None = one(Kind.NAME, "Environment variable that contains secret_key.")
    secret_file: Path | None = one(Kind.PATH, "File that contains secret_key.")
    other_secret_env: tuple[str, ...] = many(
        Kind.NAME,
        "Environment variable with a secret of another environment, to explain a wrong signature. Repeatable.",
    )
    page_origin: str | None = one(Kind.ORIGIN, "Origin of the page.  [default: the endpoint's]")
    page_url: str | None = one(
        Kind.URL, "A page with the widget. A check searches the page for the secret, and --browser opens the page."
    )
    whoami: str | None = one(Kind.URL, "Address that answers 200 to logged-in sessions only.")
    ca: Path | None = one(Kind.PATH, "PEM file of a certificate authority to trust besides the system's.")
    insecure_tls: bool = flag("Accept any certificate.")
    connect_to: tuple[str, ...] = many(Kind.ADDRESS, "Connect to ADDRESS for the host name HOST. Repeatable.")
    timeout: float = one(Kind.SECONDS, "Seconds to wait for an answer, from 0.1 to 600.", TIMEOUT, in_report=False)


@dataclass(frozen=True, kw_only=True)
class OfLogin:
    """Login (who is logged in)."""

    login: tuple[str, ...] = many(
        Kind.HEADER,
        "Header that carries a session, such as 'Cookie: sid=…'; @FILE reads it from a file. Repeatable.",
    )
    login_b: tuple[str, ...] = many(Kind.HEADER, "The session of a second person. Repeatable.")
    login_url: str | None = one(
        Kind.URL, "Address of a login form, which is filled in with its hidden inputs, or of a login that accepts JSON."
    )
    login_field: tuple[str, ...] = many(Kind.FIELD, "Field of the login form. Repeatable.")
    login_field_env: tuple[str, ...] = many(
        Kind.VARIABLE, "Field of the login form whose value is in an environment variable. Repeatable."
    )
    login_field_b: tuple[str, ...] = many(Kind.FIELD, "The same for the second person. Repeatable.")
    login_field_env_b: tuple[str, ...] = many(Kind.VARIABLE, "The same for the second person. Repeatable.")
    login_state: Path | None = one(Kind.PATH, "Session that Playwright saved as a storage state.")
    must_refuse: tuple[str, ...] = many(
        Kind.HEADER, "A session that must get no token: expired, deleted, blocked, or not fully logged in. Repeatable."
    )
    logout_url: str | None = one(
        Kind.URL, "Address of your site's logout. A call to it ends the session given with --login."
    )


@dataclass(frozen=True, kw_only=True)
class OfShape:
    """Shape (how the endpoint is called, if not as in the contract's example)."""

    method: str | None = one(Kind.METHOD, "HTTP method of the call.  [default: POST]")
    body: str | None = one(
        Kind.BODY, """Body of the call, JSON or a form, with {jkt}.  [default: '{"jkt": "{jkt}"}']"""
    )
    query: tuple[str, ...] = many(Kind.PAIR, "Query parameter to add to the address, such as jkt={jkt}. Repeatable.")
    header: tuple[str, ...] = many(
        Kind.HEADER,
        "Header of every call, such as 'X-CSRFToken: {cookie:csrftoken}' or with {meta:csrf-token}; @FILE reads it. "
        "Repeatable.",
    )
    token_at: str | None = one(
        Kind.PLACE, "Place of the token in the answer, such as data.token; raw: the whole answer.  [default: token]"
    )


@dataclass(frozen=True, kw_only=True)
class OfEnd:
    """End (a real socket, and a widget in a browser)."""

    socket: bool = flag(
        "At the end, open a real socket of a server started for the run.  [default: yes]", default=True, in_report=False
    )
    service_url: str | None = one(
        Kind.URL, "Base address of a running chat service, which is then used instead of that server."
    )
    sdk_url: str | None = one(
        Kind.URL, "With --browser: address of the widget's script.  [default: /assets/sdk.js of the service]"
    )
    browser: bool = flag("At the end, run a real widget on your page (--page-url, or an empty page).")
    browser_login: bool = flag(
        "Like --browser, but first you log in by hand in a visible browser.",
        in_pytest=False,  # it needs a person
    )
    passkeys: Path | None = one(
        Kind.PATH,
        "With --browser-login: use a virtual authenticator, which stores its passkeys in this file.",
        in_pytest=False,
    )
    logout_selector: str | None = one(
        Kind.SELECTOR, "With --browser: CSS selector of the page's logout button, which is clicked at the end."
    )
    results: Path = one(
        Kind.PATH, "Folder for screenshots and traces if a check in the browser fails.", RESULTS, in_report=False
    )


@dataclass(frozen=True, kw_only=True)
class OfExceptions:
    """Exceptions (which checks are judged, and which findings count)."""

    only: tuple[str, ...] = many(
        Kind.PATTERN,
        "Judge only these checks, such as 'claim.*'. Repeatable.",
        in_report=False,
        in_pytest=False,  # pytest has -k
    )
    skip: tuple[str, ...] = many(Kind.PATTERN, "Leave these checks out. Repeatable.", in_report=False, in_pytest=False)
    known_failures: Path | None = one(
        Kind.PATH, "File of 'id: reason' lines. An entry that is no longer needed is a failure.", in_report=False
    )
    strict: bool = flag("End with status 6 if there are warnings.", in_report=False)
    require_all: bool = flag(
        "End with status 9 if any check was not judged, even if only an option was missing.", in_report=False
    )


@dataclass(frozen=True, kw_only=True)
class OfReports:
    """Reports (what is written)."""

    format: str = one(
        Kind.CHOICE,
        "Format of the report.",
        reports.TERMINAL,
        choices=(reports.TERMINAL, *reports.NAMES),
        in_report=False,
        in_pytest=False,  # pytest writes reports of its own
    )
    output: Path | None = one(
        Kind.PATH, "File for the report.  [default: standard output]", in_report=False, in_pytest=False
    )
    verbose: bool = flag("Show every check.", short="-v", in_report=False, in_pytest=False)


@dataclass(frozen=True, kw_only=True)
class OfRun:
    """Run (what is done)."""

    config: Path | None = one(
        Kind.PATH,
        "File of options.  [default: chatkey-check.toml in this folder, if it exists]",
        in_report=False,
    )
    init: bool = flag("Ask five questions, write the file of options, and exit.", in_report=False, in_pytest=False)
    yes: bool = flag("Allow requests to a host other than this machine.", in_report=False)
    plan: bool = flag("Print all requests without sending any.", in_report=False, in_pytest=False)
    explain: str | None = one(
        Kind.ID,
        "Explain a check and how to fix what it finds; without an id, list all checks.",
        in_report=False,
        in_pytest=False,
    )
    ui: bool = flag(
        "Show all calls on a local page, where you can change them and send them again.",
        in_report=False,
        in_pytest=False,
    )
    watch: tuple[Path, ...] = many(Kind.PATH, "Run again when files change.", in_report=False, in_pytest=False)


@dataclass(frozen=True, kw_only=True)
class Given(OfTarget, OfLogin, OfShape, OfEnd, OfExceptions, OfReports, OfRun):
    """The options of one run, as they were written."""

    url: str


GROUPS: Final[tuple[type, ...]] = (OfTarget, OfLogin, OfShape, OfEnd, OfExceptions, OfReports, OfRun)
"""The groups of options, in the order of the help. In a file of options, each group except the last has a table."""


def _options() -> tuple[Option, ...]:
    declared = ((group, member, member.metadata[OPTION]) for group in GROUPS for member in fields(group))
    return tuple(
        replace(option, field=member.name, default=member.default, group=(group.__doc__ or "").rstrip("."))
        for group, member, option in declared
    )


OPTIONS: Final = _options()
"""All options, in the order of the help."""
