"""Tests of the client without a browser: it must sign proofs as in D-10, and report the close code of a refusal."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator

import jwt
import pytest
from websockets.sync.server import ServerConnection, serve

from chatkey_peer.key import BrowserKey, thumbprint
from chatkey_peer.peer import peer


@pytest.fixture
def refusing_service() -> Iterator[str]:
    """A socket server that sends hello, answers the first frame with an error, and closes with 4403."""

    def serve_one(connection: ServerConnection) -> None:
        connection.send(json.dumps({"type": "hello", "nonce": "n-1"}))
        connect = json.loads(connection.recv())
        code = "proof_key_mismatch" if connect["proof"] else "proof_malformed"
        connection.send(json.dumps({"type": "error", "code": code, "message": "no", "retryable": False}))
        connection.close(4403, "no")

    with serve(serve_one, "127.0.0.1", 0, subprotocols=["wf.v1"]) as server:  # type: ignore[list-item]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://chat.localhost:{server.socket.getsockname()[1]}/v1/socket"
        server.shutdown()
        thread.join()


@pytest.mark.contract("D-04/jkt", "D-04/vectors")
def test_rfc9449_6_1_thumbprint() -> None:
    jwk = {
        "kty": "EC",
        "crv": "P-256",
        "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
    }

    assert thumbprint(jwk) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"


@pytest.mark.contract("D-10/proof")
def test_the_proof_is_signed_by_the_key_in_its_header_for_this_token_and_nonce() -> None:
    key = BrowserKey()

    proof = key.prove(token="a.b.c", nonce="n-1", htu="wss://chat.example/v1/socket")

    header = jwt.get_unverified_header(proof)
    claims = jwt.decode(proof, jwt.PyJWK(header["jwk"]).key, algorithms=["ES256"], options={"verify_iat": False})
    ath = base64.urlsafe_b64encode(hashlib.sha256(b"a.b.c").digest()).rstrip(b"=").decode()
    assert header == {"typ": "wf-proof+jwt", "alg": "ES256", "jwk": key.jwk}
    assert set(claims) == {"jti", "iat", "htm", "htu", "nonce", "ath"}
    assert (claims["htm"], claims["htu"], claims["nonce"], claims["ath"]) == (
        "GET",
        "wss://chat.example/v1/socket",
        "n-1",
        ath,
    )


def test_a_refusal_is_reported_with_its_code_and_close_code(refusing_service: str) -> None:
    with peer(refusing_service, origin="https://shop.example", ca=None) as thief:
        outcome = thief.connect_with("a.b.c", BrowserKey())

    assert (outcome.code, outcome.close) == ("proof_key_mismatch", 4403)
