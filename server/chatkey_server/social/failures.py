"""What goes wrong between this server and a social provider, told as one refusal (contract 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.social.authlib_client import OAuthError, httpx
from chatkey_server.social.person import Unusable
from chatkey_server.social.provider import error_code
from chatkey_server.social.transport import AnswerTooLarge

if TYPE_CHECKING:
    from chatkey_server.social.provider import SocialProvider


@contextmanager
def told(social: SocialProvider, stage: str) -> Iterator[None]:
    """Turn every failure of the back channel inside into `Refused(oauth_failed)`, whose cause begins with `stage`.

    Neither message nor cause quotes what was sent or received, except the provider's own error code.
    """
    try:
        yield
    except (TimeoutError, httpx.TimeoutException):
        raise _failed(social, stage, "did not answer in time", "timed out") from None
    except httpx.HTTPStatusError as error:
        status = f"answered with status {error.response.status_code}"
        raise _failed(social, stage, status, status) from None
    except httpx.ConnectError as error:
        raise _failed(social, stage, "could not be reached", f"no connection: {error}") from None
    except httpx.HTTPError as error:
        raise _failed(social, stage, "broke the connection off", type(error).__name__) from None
    except OAuthError as error:
        word = error_code(error.error)
        raise _failed(social, stage, f"did not accept this login ({word})", f"error {word}") from None
    except AnswerTooLarge:
        raise _failed(social, stage, "sent far more than a login needs", "answer too large") from None
    except Unusable as error:
        raise _failed(social, stage, f"sent something that cannot be used: {error}", str(error)) from None


def _failed(social: SocialProvider, stage: str, what: str, cause: str) -> Refused:
    return Refused(Code.OAUTH_FAILED, f"{social.title} {what}. Please try again.", cause=f"{stage}: {cause}")
