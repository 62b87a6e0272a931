from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import MEANINGS, Refused


def test_every_code_has_a_status_and_a_close_code() -> None:
    assert set(MEANINGS) == set(Code)
    assert all(400 <= meaning.status < 600 for meaning in MEANINGS.values())


def test_a_refusal_shows_its_code_and_message() -> None:
    refusal = Refused(Code.TOKEN_ALG, "The token's alg must be 'HS256'.", member="alg")

    assert str(refusal) == "token_alg: The token's alg must be 'HS256'."
    assert refusal.meaning.status == 401
