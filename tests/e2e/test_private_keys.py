"""Tests that a private key is recognised in every form in which a page can keep it, and that other keys are not."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from chatkey_e2e.private_keys import places_of_keys
from chatkey_peer.key import BrowserKey, b64, thumbprint

FORMS: dict[str, Callable[[int, dict[str, str], bytes], str]] = {
    "jwk": lambda _, jwk, __: json.dumps(jwk),
    "jwk in base64": lambda _, jwk, __: base64.b64encode(json.dumps(jwk).encode()).decode(),
    "jwk in a text of JSON": lambda _, jwk, __: json.dumps({"key": json.dumps(jwk)}),
    "jwk in a query": lambda _, jwk, __: f"https://shop.example/?key={quote(json.dumps(jwk))}",
    "pkcs8 in base64": lambda _, __, der: base64.b64encode(der).decode(),
    "pkcs8 in hex": lambda _, __, der: der.hex(),
    "pkcs8 as a list": lambda _, __, der: json.dumps(list(der)),
    "pkcs8 as a typed array": lambda _, __, der: json.dumps({str(at): byte for at, byte in enumerate(der)}),
    "pkcs8 as letters": lambda _, __, der: der.decode("latin-1"),
    "pem": lambda _, __, der: (
        f"-----BEGIN PRIVATE KEY-----\n{base64.encodebytes(der).decode()}-----END PRIVATE KEY-----"
    ),
    "raw in base64url behind a word": lambda _, jwk, __: f"key-{jwk['d']}",
    "raw in base64": lambda number, _, __: base64.b64encode(number.to_bytes(32)).decode(),
    "raw in hex": lambda number, _, __: f"0x{number:064X}",
    "raw as a list": lambda number, _, __: ", ".join(map(str, number.to_bytes(32))),
    "decimal": lambda number, _, __: f"{number}n",
}


def written(key: BrowserKey, form: str) -> str:
    number = key.private.private_numbers().private_value
    der = key.private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return FORMS[form](number, {**key.jwk, "d": b64(number.to_bytes(32))}, der)


@pytest.mark.contract("2.8/key-pair")
@pytest.mark.parametrize("form", FORMS)
def test_a_private_key_counts_if_it_has_the_thumbprint_of_a_connection(form: str) -> None:
    ours, other = BrowserKey(), BrowserKey()
    texts = [("ours", written(ours, form)), ("other", written(other, form)), ("public", json.dumps(ours.jwk))]

    assert list(places_of_keys(texts, {thumbprint(ours.jwk)})) == ["ours"]
