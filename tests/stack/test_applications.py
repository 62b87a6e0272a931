"""Tests that an OAuth application hides its secrets."""

import pytest

from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_stack.applications import new_application


@pytest.mark.parametrize("social", AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS)
def test_the_repr_of_an_application_hides_its_secrets(social: str) -> None:
    application = new_application(social, "shop")

    assert application.secrets
    assert not [secret for secret in application.secrets if secret in repr(application)]
