"""Tests of an OAuth application: the data that the service stores, and the data that the social provider stores."""

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_stack.applications import Application, new_application


def test_service_and_provider_share_a_secret_per_application() -> None:
    one, other = (new_application("github", "shop") for _ in range(2))

    assert one.for_service() == one.for_provider() == {"client_id": "shop", "client_secret": one.client_secret}
    assert len(one.client_secret) >= 32
    assert one.client_secret != other.client_secret


def test_at_apple_the_service_signs_and_the_provider_has_the_public_half() -> None:
    application = new_application("apple", "shop")

    given, known = application.for_service(), application.for_provider()

    public = load_pem_private_key(given["p8"].encode(), password=None).public_key()
    assert known["public_key"] == public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert given.keys() == {"client_id", "team_id", "key_id", "p8"}
    assert known.keys() == {"client_id", "team_id", "key_id", "public_key"}
    assert "PRIVATE" not in str(known)


@pytest.mark.parametrize("social", AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS)
def test_the_repr_of_an_application_hides_its_secrets(social: str) -> None:
    application = new_application(social, "shop")

    assert application.secrets
    assert not [secret for secret in application.secrets if secret in repr(application)]


def test_an_application_without_keys_has_no_secrets() -> None:
    assert Application("google", "shop").secrets == ()
