"""Outcomes of a connection to the service: the server accepted or refused a principal, or asks for a newer token."""

from dataclasses import dataclass
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_widget.errors import Phase, WidgetError
from chatkey_widget.principal import Custom, Principal, Social, Visitor

TERMINAL: Final = frozenset({Code.PROVIDER_UNKNOWN, Code.PROVIDER_OFF, Code.ORIGIN_NOT_ALLOWED, Code.INSECURE_ORIGIN})
"""Refusals that would be the same for every token and every identity."""

_OURS: Final = (
    "Do not change getToken, because the service made this token. If the token is old, a service worker or a proxy "
    "probably caches responses in spite of no-store, and answers instead of the service."
)
_SIGN_IN_ENDED: Final = "Nothing to do: a social sign-in lasts one day at most. The person can sign in again."


@dataclass(frozen=True, slots=True)
class Established:
    principal: Principal


@dataclass(frozen=True, slots=True)
class Refused:
    """The server refused the principal with this token."""

    code: str
    message: str

    @property
    def terminal(self) -> bool:
        """Whether the server would refuse every other identity, too."""
        return self.code in TERMINAL

    @property
    def expired(self) -> bool:
        """Whether the server refused the token only because it has expired."""
        return self.code == Code.TOKEN_EXPIRED

    def error(
        self, principal: Principal | None, *, phase: Phase | None = None, retryable: bool | None = None
    ) -> WidgetError:
        """Return the error for the page.

        The author of the page can fix only tokens from the page's backend, and the error's advice says so.
        """
        message = self.message or "The server refused the token."
        remediation = None if isinstance(principal, Custom) else _remediation(self, principal)
        return WidgetError(self.code, message, phase=phase, remediation=remediation, retryable=retryable)


@dataclass(frozen=True, slots=True)
class Reauth:
    """The server asks for a newer token, which only the page's backend can make."""


Outcome = Established | Refused | Reauth


def _remediation(refused: Refused, principal: Social | Visitor | None) -> str | None:
    if not refused.code.startswith("token_"):
        return None
    return _SIGN_IN_ENDED if refused.expired and isinstance(principal, Social) else _OURS
