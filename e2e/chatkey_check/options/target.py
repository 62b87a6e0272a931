"""Converts the command-line options into a target, or reports options that cannot be used."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from chatkey_check.options.shapes import shape
from chatkey_check.options.shown import shown
from chatkey_check.options.table import Given
from chatkey_check.options.texts import address, checked_origin, checked_url, content, headers, pair, variable
from chatkey_check.target import BrowserMissing, LiveOptions, Login, OptionError, Target

SHORTEST: Final = 0.1
LONGEST: Final = 600.0
INSTALL: Final = "pip install 'chatkey[browser]'"


def target(given: Given, environ: Mapping[str, str] = os.environ) -> Target:
    """Return what to check. Raises `OptionError`, or `BrowserMissing` if Playwright is needed but not installed."""
    if given.login_url and not (given.login_field or given.login_field_env):
        raise OptionError("--login-url needs fields: --login-field user=ada --login-field-env password=VARIABLE.")
    if not SHORTEST <= given.timeout <= LONGEST:  # NaN is not between them either
        raise OptionError(f"--timeout must be from {SHORTEST:g} to {LONGEST:g} seconds, not {given.timeout:g}.")
    made = Target(
        url=checked_url(given.url, "URL"),
        provider_id=given.provider_id,
        secret=_secret(given, environ),
        other_secrets={name: variable(name, "--other-secret-env", environ) for name in given.other_secret_env},
        login=_login(given, given.login, given.login_field, given.login_field_env, environ) or _saved(given),
        login_b=_login_b(given, environ),
        must_refuse=tuple(headers(given.must_refuse, "--must-refuse")),
        headers=tuple(headers(given.header, "--header")),
        page_origin=checked_origin(given.page_origin, "--page-origin") if given.page_origin else None,
        page_url=_own(given, given.page_url, "--page-url"),
        whoami=_own(given, given.whoami, "--whoami"),
        logout_url=_own(given, given.logout_url, "--logout-url"),
        insecure_tls=given.insecure_tls,
        ca=given.ca,
        connect_to=dict(address(entry) for entry in given.connect_to),
        timeout=given.timeout,
        shape=shape(given),
        logout_selector=given.logout_selector,
        live=_live(given),
        shown=shown(given),
    )
    if given.passkeys and not given.browser_login:
        raise OptionError("--passkeys needs --browser-login.")
    if given.logout_selector and not (given.browser or given.browser_login):
        raise OptionError("--logout-selector needs --browser.")
    if given.ca is not None and not given.ca.is_file():
        raise OptionError(f"--ca {given.ca} is not a file.")
    return made


def _secret(given: Given, environ: Mapping[str, str]) -> str | None:
    if given.secret_env and given.secret_file:
        raise OptionError("Use either --secret-env or --secret-file, not both.")
    if given.secret_env:
        return variable(given.secret_env, "--secret-env", environ)
    if given.secret_file is None:
        return None
    text = content(given.secret_file, "--secret-file").removesuffix("\n").removesuffix("\r")
    if not text:
        raise OptionError(f"--secret-file {given.secret_file} is empty.")
    return text


def _login(
    given: Given, lines: tuple[str, ...], fields: tuple[str, ...], envs: tuple[str, ...], environ: Mapping[str, str]
) -> Login | None:
    sent = tuple(headers(lines, "--login"))
    if (fields or envs) and not given.login_url:
        raise OptionError("--login-field needs --login-url, the address of the form.")
    if not fields and not envs:
        return Login(sent) if sent else None
    plain = [pair(entry, "--login-field") for entry in fields]
    named = [pair(entry, "--login-field-env") for entry in envs]
    hidden = [(name, variable(source, "--login-field-env", environ)) for name, source in named]
    form = _own(given, given.login_url, "--login-url") or ""
    return Login(sent, form, (*plain, *hidden), tuple(value for _, value in hidden))


def _login_b(given: Given, environ: Mapping[str, str]) -> Login | None:
    made = _login(given, given.login_b, given.login_field_b, given.login_field_env_b, environ)
    if made and made == _login(given, given.login, given.login_field, given.login_field_env, environ):
        raise OptionError("--login-b is the same session as --login. Pass the session of a second person.")
    if made and not (_has_login(given) or given.browser_login):
        raise OptionError("A second login needs a first one: --login or --login-url.")
    return made


def _saved(given: Given) -> Login | None:
    """Return the session of --login-state: the cookies that the endpoint gets."""
    if given.login_state is None:
        return None
    try:
        saved = json.loads(content(given.login_state, "--login-state"))["cookies"]
        cookies = [one for one in saved if _fits(given.url, str(one["domain"]), str(one["path"]))]
        pairs = "; ".join(f"{one['name']}={one['value']}" for one in cookies)
    except (ValueError, TypeError, KeyError) as error:
        raise OptionError(f"--login-state {given.login_state} is not a storage state of Playwright.") from error
    if not pairs:
        raise OptionError(f"--login-state {given.login_state} has no cookie for {given.url}.")
    return Login((("Cookie", pairs),))


def _fits(url: str, domain: str, path: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    below = f"{parts.path}/".startswith(f"{path.rstrip('/')}/")
    return below and (host == domain or (domain.startswith(".") and f".{host}".endswith(domain)))


def _has_login(given: Given) -> bool:
    return bool(given.login or given.login_field or given.login_field_env or given.login_state)


def _own(given: Given, url: str | None, option: str) -> str | None:
    """Return the address if its host is that of the endpoint or of the page. The session may be sent to such a host."""
    if url is None:
        return None
    hosts = {urlsplit(address).hostname for address in (given.url, given.page_origin or given.url)}
    if urlsplit(checked_url(url, option)).hostname not in hosts:
        raise OptionError(
            f"{option} must be on the host of the endpoint or of the page, because the session is sent there."
        )
    return url


def _live(given: Given) -> LiveOptions | None:
    wanted = given.browser or given.browser_login
    if not given.socket:
        if wanted or given.service_url or given.sdk_url:
            raise OptionError("--no-socket cannot be combined with --service-url or --browser.")
        return None
    if given.browser_login and _has_login(given):
        raise OptionError(
            "--browser-login cannot be combined with --login or --login-field: each of them logs in the first person."
        )
    if wanted and find_spec("playwright") is None:
        raise BrowserMissing(f"--browser needs Playwright, which is not installed: {INSTALL}")
    url = checked_origin(given.service_url, "--service-url") if given.service_url else None
    sdk = checked_url(given.sdk_url, "--sdk-url") if given.sdk_url else None
    if sdk and not (url and wanted):
        raise OptionError("--sdk-url needs --browser and --service-url.")
    return LiveOptions(url, sdk, wanted, given.browser_login, given.passkeys, given.results)
