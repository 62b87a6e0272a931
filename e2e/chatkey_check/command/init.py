"""`chatkey check --init`: asks for the basic settings of a run, and writes the settings to a file of options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from chatkey_check.options.file import NAME
from chatkey_check.options.texts import checked_url
from chatkey_check.target import OptionError

HEAD: Final = """# Options of `chatkey check` for this endpoint. Options on the command line override them.
# Do not write secrets into this file: write the names of the environment variables or files that contain them.
"""
MORE: Final = """
[shape]
# If your call is not POST {"jkt": …} answered with {"token": …}:
# method = "POST"
# body = '{"thumbprint": "{jkt}"}'
# query = ["jkt={jkt}"]
# token-at = "data.token"

[end]
# browser = true

[exceptions]
# known-failures = "known-failures.txt"

[reports]
# format = "html"
# output = "check.html"
"""


def ask(folder: Path) -> Path:
    """Ask five questions and write the file. Raises `OptionError`, or `click.Abort` if the person cancels."""
    path = folder / NAME
    if path.exists():
        raise OptionError(f"{path} already exists. Delete it first, or edit it.")
    click.echo(f"Answer five questions to create {NAME}. Enter accepts the value in brackets.\n")
    url = click.prompt("1. Address of your getToken endpoint", value_proc=_address)
    provider = click.prompt("2. Your provider id", default="", show_default=False)
    secret = click.prompt(
        "3. Name of the environment variable that contains secret_key (not the secret itself)", default="CHAT_SECRET"
    )
    form = click.prompt(
        "4. Address of your login form; empty if you will copy a session", default="", show_default=False
    )
    lines = _form(form) if form else _session()
    text = "\n".join([HEAD, "[target]", *_target(url, provider, secret), "", "[login]", *lines]) + "\n"
    path.write_text(text + MORE, encoding="utf-8")
    click.echo(f"\nWritten: {path}. Now: chatkey check")
    return path


def _address(text: str) -> str:
    try:
        return checked_url(text, "It")
    except OptionError as error:
        raise click.UsageError(str(error)) from error


def _target(url: str, provider: str, secret: str) -> list[str]:
    return [
        f"url = {json.dumps(url)}",
        *([f"provider-id = {json.dumps(provider)}"] if provider else []),
        *([f"secret-env = {json.dumps(secret)}"] if secret else []),
    ]


def _form(address: str) -> list[str]:
    fields = click.prompt(
        "5. Its fields; $NAME stands for an environment variable", default="user=ada password=$SHOP_PASSWORD"
    ).split()
    plain = [field for field in fields if "=$" not in field]
    hidden = [field.replace("=$", "=") for field in fields if "=$" in field]
    return [f"login-url = {json.dumps(address)}", *_list("login-field", plain), *_list("login-field-env", hidden)]


def _session() -> list[str]:
    file = click.prompt("5. File that contains the header of a session, such as Cookie: sid=…", default="session.txt")
    return [f"login = [{json.dumps(f'@{file}')}]  # keep this file out of your repository"]


def _list(name: str, values: Sequence[str]) -> list[str]:
    return [f"{name} = {json.dumps(values, ensure_ascii=False)}"] if values else []
