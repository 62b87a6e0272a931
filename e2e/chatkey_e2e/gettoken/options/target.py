"""Turns what was written on the command line into a target, or says what cannot be used."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from chatkey_e2e.gettoken.evidence.masks import HIDDEN
from chatkey_e2e.gettoken.exchange import Header
from chatkey_e2e.gettoken.options.live import RESULTS, LiveOptions
from chatkey_e2e.gettoken.target import Login, OptionError, Target, checked_origin, checked_url, header


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options of one run, as they were written."""

    url: str
    provider_id: str | None = None
    secret_env: str | None = None
    secret_file: Path | None = None
    other_secret_envs: tuple[str, ...] = ()
    login: tuple[str, ...] = ()
    login_b: tuple[str, ...] = ()
    login_url: str | None = None
    login_fields: tuple[str, ...] = ()
    login_field_envs: tuple[str, ...] = ()
    login_fields_b: tuple[str, ...] = ()
    login_field_envs_b: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    page_origin: str | None = None
    page_url: str | None = None
    whoami: str | None = None
    logout_url: str | None = None
    ca: Path | None = None
    insecure_tls: bool = False
    connect_to: tuple[str, ...] = ()
    timeout: float = 10.0
    socket: bool = False
    service_url: str | None = None
    browser: bool = False
    browser_login: bool = False
    results: Path = RESULTS


def target(given: Given, environ: Mapping[str, str] = os.environ) -> Target:
    """Return what to check. Raises `OptionError`."""
    if given.login_url and not (given.login_fields or given.login_field_envs):
        raise OptionError("--login-url needs fields: --login-field user=ada --login-field-env password=VARIABLE.")
    made = Target(
        url=checked_url(given.url, "URL"),
        provider_id=given.provider_id,
        secret=_secret(given, environ),
        other_secrets={name: _variable(name, "--other-secret-env", environ) for name in given.other_secret_envs},
        login=_login(given, given.login, given.login_fields, given.login_field_envs, environ),
        login_b=_login_b(given, environ),
        headers=tuple(_headers(given.headers, "--header")),
        page_origin=checked_origin(given.page_origin, "--page-origin") if given.page_origin else None,
        page_url=_own(given, given.page_url, "--page-url"),
        whoami=_own(given, given.whoami, "--whoami"),
        logout_url=_own(given, given.logout_url, "--logout-url"),
        insecure_tls=given.insecure_tls,
        ca=given.ca,
        connect_to=dict(_address(entry) for entry in given.connect_to),
        timeout=given.timeout,
        live=_live(given),
        shown=dict(_shown(given)),
    )
    if given.ca is not None and not given.ca.is_file():
        raise OptionError(f"--ca {given.ca} is no file.")
    return made


def _secret(given: Given, environ: Mapping[str, str]) -> str | None:
    if given.secret_env and given.secret_file:
        raise OptionError("Give --secret-env or --secret-file, not both.")
    if given.secret_env:
        return _variable(given.secret_env, "--secret-env", environ)
    if given.secret_file is None:
        return None
    text = _file(given.secret_file, "--secret-file").removesuffix("\n").removesuffix("\r")
    if not text:
        raise OptionError(f"--secret-file {given.secret_file} is empty.")
    return text


def _variable(name: str, option: str, environ: Mapping[str, str]) -> str:
    value = environ.get(name)
    if value:
        return value
    what = "is not set" if value is None else "is empty"
    looks_like_value = len(name) > 24 or not name.replace("_", "").isalnum()
    if looks_like_value:  # it may be the secret itself, which must not be repeated
        raise OptionError(f"{option} takes the name of a variable, never the secret itself; what was given {what}.")
    raise OptionError(
        f"{option} {name}: this variable {what}. It takes the name of a variable, never the secret itself."
    )


def _file(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{option} {path} cannot be read: {error}") from error


def _headers(lines: Iterable[str], option: str) -> Iterable[Header]:
    for line in lines:
        if not line.startswith("@"):
            yield header(line, option)
            continue
        for inner in _file(Path(line[1:]), option).splitlines():
            if inner.strip():
                yield header(inner, f"{option} {line}")


def _login(
    given: Given, lines: tuple[str, ...], fields: tuple[str, ...], envs: tuple[str, ...], environ: Mapping[str, str]
) -> Login | None:
    headers = tuple(_headers(lines, "--login"))
    if (fields or envs) and not given.login_url:
        raise OptionError("--login-field belongs to --login-url: say which form it is for.")
    if not fields and not envs:
        return Login(headers) if headers else None
    plain = [_pair(entry, "--login-field") for entry in fields]
    named = [_pair(entry, "--login-field-env") for entry in envs]
    hidden = [(name, _variable(variable, "--login-field-env", environ)) for name, variable in named]
    address = _own(given, given.login_url, "--login-url") or ""
    return Login(headers, address, (*plain, *hidden), tuple(value for _, value in hidden))


def _login_b(given: Given, environ: Mapping[str, str]) -> Login | None:
    made = _login(given, given.login_b, given.login_fields_b, given.login_field_envs_b, environ)
    if made and not (given.login or given.login_fields or given.login_field_envs or given.browser_login):
        raise OptionError("The second login needs a first one: --login or --login-url.")
    return made


def _pair(entry: str, option: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name:
        raise OptionError(f"{option} must look like NAME=VALUE.")
    return name, value


def _own(given: Given, url: str | None, option: str) -> str | None:
    """Return an address that the session may be sent to: one of the endpoint's host, or the page's."""
    if url is None:
        return None
    hosts = {urlsplit(address).hostname for address in (given.url, given.page_origin or given.url)}
    if urlsplit(checked_url(url, option)).hostname not in hosts:
        raise OptionError(f"{option} must be on the host of the endpoint or of the page: the session is sent there.")
    return url


def _live(given: Given) -> LiveOptions | None:
    wanted = given.browser or given.browser_login
    if not given.socket:
        if wanted or given.service_url:
            raise OptionError(
                "--no-socket leaves out all that --service-url and --browser are for: give one or the other."
            )
        return None
    if given.browser_login and (given.login or given.login_fields or given.login_field_envs):
        raise OptionError("--browser-login is the first login: leave --login and --login-field out.")
    url = checked_origin(given.service_url, "--service-url") if given.service_url else None
    return LiveOptions(url, wanted, given.browser_login, given.results)


def _address(entry: str) -> tuple[str, str]:
    host, equals, address = entry.partition("=")
    if not equals or not host or not address:
        raise OptionError(f"--connect-to must look like shop.example=127.0.0.1, not {entry!r}.")
    return host.lower(), address.strip("[]")


def _shown(given: Given) -> Iterable[tuple[str, str]]:
    """Yield the options that were used, without what is secret."""
    plain = {
        "--provider-id": given.provider_id,
        "--secret-env": given.secret_env,
        "--secret-file": given.secret_file,
        "--login-url": given.login_url,
        "--page-origin": given.page_origin,
        "--page-url": given.page_url,
        "--whoami": given.whoami,
        "--logout-url": given.logout_url,
        "--ca": given.ca,
        "--insecure-tls": "yes" if given.insecure_tls else None,
        "--service-url": given.service_url,
        "--browser": "yes" if given.browser else None,
        "--browser-login": "yes" if given.browser_login else None,
        "--other-secret-env": ", ".join(given.other_secret_envs),
        "--connect-to": ", ".join(given.connect_to),
        "--login-field": ", ".join(f"{entry.partition('=')[0]}=…" for entry in given.login_fields),
        "--login-field-env": ", ".join(given.login_field_envs),
        "--login-field-b": ", ".join(f"{entry.partition('=')[0]}=…" for entry in given.login_fields_b),
        "--login-field-env-b": ", ".join(given.login_field_envs_b),
    }
    yield from ((name, str(value)) for name, value in plain.items() if value)
    for name, lines in (("--login", given.login), ("--login-b", given.login_b), ("--header", given.headers)):
        if lines:
            yield (
                name,
                ", ".join(line if line.startswith("@") else f"{line.partition(':')[0]}: {HIDDEN}" for line in lines),
            )
