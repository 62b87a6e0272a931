"""Prints errors of the service as one sentence, without a traceback."""

from __future__ import annotations

import click

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import SettingsError
from chatkey_server.storage import engine


class SettingsFailure(click.ClickException):
    """A setting has an unusable value. The command ends with status 2."""

    exit_code = 2


class ServiceCommand(click.Command):
    """A command of the service. An unusable setting ends it with status 2, and a refusal with status 1."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (SettingsError, Refused) as error:
            raise in_a_sentence(error) from error


class ServiceGroup(ServiceCommand, click.Group):
    """Commands of the service with one subject."""


def in_a_sentence(error: SettingsError | Refused) -> click.ClickException:
    """Return the error that the command line prints."""
    if isinstance(error, SettingsError):
        return SettingsFailure(str(error))
    if error.code is Code.UNAVAILABLE:
        return SettingsFailure(engine.unusable(engine.bound(), error.__cause__))
    cause = f" ({error.cause})" if error.cause else ""
    return click.ClickException(f"{error.message}{cause}")
