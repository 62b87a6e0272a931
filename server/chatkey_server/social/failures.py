"""Converts failures between this server and a social provider into one refusal (contract 4.5)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.social.authlib_client import OAuthError, httpx
from chatkey_server.social.person import Unusable
from chatkey_server.social.provider import error_code
from chatkey_server.social.transport import AnswerTooLarge, TooManyRequests

if TYPE_CHECKING:
    from chatkey_server.social.provider import SocialProvider

AGAIN: Final = "Please try again."

ABOUT_KEYS: Final = frozenset(
    {"invalid_client", "unauthorized_client", "incorrect_client_credentials", "redirect_uri_mismatch"}
)
"""Errors that remain until someone corrects the application's keys or redirect URI, here or at the provider."""


@contextmanager
def told(social: SocialProvider, stage: str) -> Iterator[None]:
    """Convert every failure inside the context to `Refused(oauth_failed)`.

    The cause of the refusal begins with `stage`. Neither message nor cause quotes data that was sent or received,
    except the provider's own error code.
    """
    try:
        yield
    except (TimeoutError, httpx.TimeoutException):
        raise _failed(social, stage, "did not answer in time", "timed out") from None
    except TooManyRequests as error:
        cause = f"answered with status {error.status}"
        raise _failed(social, stage, "has received too many sign-ins", cause, _when(error.retry_after)) from None
    except httpx.HTTPStatusError as error:
        status = f"answered with status {error.response.status_code}"
        raise _failed(social, stage, status, status) from None
    except httpx.ConnectError as error:
        raise _failed(social, stage, "could not be reached", f"no connection: {error}") from None
    except httpx.HTTPError as error:
        raise _failed(social, stage, "closed the connection early", type(error).__name__) from None
    except OAuthError as error:
        word = error_code(error.error)
        advice = "The chat's operator must correct its keys." if word in ABOUT_KEYS else AGAIN
        raise _failed(social, stage, f"did not accept this login ({word})", f"error {word}", advice) from None
    except AnswerTooLarge:
        raise _failed(social, stage, "sent far more data than a login needs", "response too large") from None
    except Unusable as error:
        raise _failed(social, stage, f"sent unusable data: {error}", str(error)) from None


def _failed(social: SocialProvider, stage: str, what: str, cause: str, advice: str = AGAIN) -> Refused:
    return Refused(Code.OAUTH_FAILED, f"{social.title} {what}. {advice}", cause=f"{stage}: {cause}")


def _when(seconds: int | None) -> str:
    """Return advice on when to try again. The advice never names a time that is longer than an hour."""
    if seconds is None or seconds > 3600:
        return "Please try again later."
    if seconds <= 90:
        return f"Please try again in {seconds} seconds."
    return f"Please try again in {math.ceil(seconds / 60)} minutes."
