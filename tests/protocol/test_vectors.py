"""Runs the vectors of docs/vectors.json against our server and our widget, as docs/vectors.md describes."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from chatkey_protocol.codes import Code
from chatkey_protocol.names import REVISION, SUBPROTOCOL
from chatkey_server.identity import call_proofs, encoding, keys, origins, proofs, tokens
from chatkey_server.identity.call_proofs import Ends
from chatkey_server.identity.errors import MEANINGS, Refused
from chatkey_server.identity.tokens import Secrets
from chatkey_server.settings import Limits
from chatkey_server.socket.connection import Connection
from chatkey_server.storage.providers import ProviderView
from chatkey_widget import call_proof
from chatkey_widget import proof as widget_proof
from chatkey_widget import tokens as widget_tokens
from chatkey_widget.keys import PublicKey

DOCS: Final = Path(__file__).parents[2] / "docs"
VECTORS: Final[dict[str, Any]] = json.loads((DOCS / "vectors.json").read_text())
GIVEN: Final = VECTORS["tokens"]["given"]


def cases(group: str, **only: str) -> list[Any]:
    """Return the cases of a group with their ids. `only` selects the cases whose members have these values."""
    listed = VECTORS[group] if isinstance(VECTORS[group], list) else VECTORS[group]["cases"]
    chosen = [case for case in listed if all(case.get(name) == value for name, value in only.items())]
    return [pytest.param(case, id=str(case.get("id", number))) for number, case in enumerate(chosen)]


def judged(where: str, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of `read`.

    If `read` raises a refusal, return the refusal's code and its close code or HTTP status.
    """
    try:
        return read()
    except Refused as refused:
        meaning = MEANINGS[refused.code]
        return {"refused": refused.code, where: meaning.status if where == "status" else int(meaning.close)}


def wanted(case: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name not in {"id", "shown_as", "token", "proof", "domain"}}


def test_the_file_is_of_the_newest_revision_and_its_page_names_every_group() -> None:
    page = (DOCS / "vectors.md").read_text()

    assert (VECTORS["profile"], VECTORS["revision"]) == (SUBPROTOCOL, REVISION)
    assert all(f"| `{group}` |" in page for group in VECTORS if group not in {"profile", "revision"})
    assert f"## Revision {REVISION}\n" in (DOCS / "protocol-changes.md").read_text()
    assert f"revision {REVISION}," in (DOCS / "protocol.md").read_text().replace("\n", " ")


@pytest.mark.contract("D-04/jkt", "D-04/uid", "D-04/vectors")
@pytest.mark.parametrize("case", cases("thumbprints"))
def test_a_thumbprint_and_its_uid(case: Any) -> None:
    by_the_widget = PublicKey(case["jwk"]["x"], case["jwk"]["y"])

    assert keys.read_jwk(case["jwk"]).jkt == by_the_widget.jkt == case["jkt"]
    assert keys.visitor_uid(case["jkt"]) == by_the_widget.uid == case["wf_visitor_uid"]


@pytest.mark.contract("2.6/visitor-time", "D-05/visitor")
@pytest.mark.parametrize("case", cases("visitor_keys"))
def test_a_visitor_token_is_signed_with_the_key_of_its_minute(case: Any) -> None:
    uid = VECTORS["thumbprints"][0]["wf_visitor_uid"]

    token = tokens.mint_visitor(Secrets(case["secret_key"].encode()), pid="p", uid=uid, now=case["iat"])

    compact = encoding.split(token)
    again = encoding.json_object(encoding.decode(compact.payload))
    assert again["exp"] == case["exp"]
    assert compact.signature == hmac.digest(encoding.decode(case["key"]), compact.signed, "sha256")


@pytest.mark.contract("D-04/vectors")
@pytest.mark.parametrize("case", cases("token_hashes"))
def test_the_hash_of_a_token(case: Any) -> None:
    assert proofs.access_token_hash(case["token"]) == widget_proof.access_token_hash(case["token"]) == case["ath"]


@pytest.mark.contract("D-08/serialised")
@pytest.mark.parametrize("case", cases("domains"))
def test_a_registered_domain_stands_for_origins(case: Any) -> None:
    def read() -> dict[str, Any]:
        return {"origins": list(origins.registrable(case["domain"]))}

    assert judged("status", read) == {**wanted(case), **({"status": 400} if "refused" in case else {})}


@pytest.mark.contract("D-05/custom", "D-05/login", "D-05/strict-reading")
@pytest.mark.parametrize("case", cases("tokens", shown_as="socket token"))
def test_a_socket_token(case: Any) -> None:
    def read() -> dict[str, Any]:
        secrets = Secrets(GIVEN["secret_key"].encode())
        who = tokens.read_socket_token(case["token"], secrets, pid=GIVEN["pid"], now=GIVEN["now"])
        return {"accepted": {"login": who.login, "uid": who.uid, "jkt": who.jkt, "expires_at": who.expires_at}}

    assert judged("close", read) == wanted(case)


@pytest.mark.contract("D-05/identity", "D-05/strict-reading")
@pytest.mark.parametrize("case", cases("tokens", shown_as="auth"))
def test_an_identity_token(case: Any) -> None:
    def read() -> dict[str, Any]:
        secrets = Secrets(GIVEN["secret_key"].encode())
        who = tokens.read_identity_token(case["token"], secrets, pid=GIVEN["pid"], now=GIVEN["now"])
        assert (who.uid.social, who.jkt) == ("google", GIVEN["jkt"])
        return {"accepted": {}}

    assert judged("status", read) == wanted(case)


@pytest.mark.contract("2.4/unchanged")
@pytest.mark.parametrize("case", [case for case in cases("tokens") if case.values[0].get("accepted", {}).get("uid")])
def test_the_widget_sends_every_token_that_the_service_accepts(case: Any) -> None:
    read = widget_tokens.read(case["token"])

    assert (read.uid, read.expires_at) == (case["accepted"]["uid"], case["accepted"]["expires_at"])
    if read.type == "user":
        widget_tokens.check_binding(read, pid=GIVEN["pid"], jkt=GIVEN["jkt"])
        widget_tokens.check_time(read, now=GIVEN["now"])


def connected(now: float) -> tuple[Connection, ProviderView]:
    """Return a connection that has accepted a token from the vectors. The proof is not checked."""
    given = VECTORS["refreshes"]["given"]
    provider = ProviderView(
        id=given["pid"],
        enabled=True,
        secrets=Secrets(given["secret_key"].encode()),
        origins=(),
        restrict_socket_origins=False,
        socials={},
        configuration=b"",
        etag="",
    )
    machine = Connection("wss://chat.test/v1/socket", Limits(), now=now)
    nonce = machine.arrive([], b"")["nonce"]
    frame: Any = machine.receive(json.dumps({"type": "connect", "token": given["held"], "proof": "-"}), now)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs, "verify", lambda *_, jkt, **__: proofs.Proof(jkt, 0.0))
        machine.connect(frame, tokens.unverified(given["held"]), provider, now)
    assert nonce
    return machine, provider


@pytest.mark.contract("D-10/refresh")
@pytest.mark.parametrize("case", cases("refreshes"))
def test_a_newer_token(case: Any) -> None:
    now = VECTORS["refreshes"]["given"]["now"]
    machine, provider = connected(now)
    frame: Any = machine.receive(json.dumps({"type": "refresh", "token": case["token"]}), now)

    def read() -> dict[str, Any]:
        return {"expires_at": machine.refresh(frame, provider, now)["expires_at"]}

    assert judged("close", read) == wanted(case)


@pytest.mark.contract("D-10/proof", "D-10/checks")
@pytest.mark.parametrize("case", cases("proofs"))
def test_a_proof(case: Any) -> None:
    def read() -> dict[str, Any]:
        proofs.verify(case["proof"], **VECTORS["proofs"]["given"])
        return {"accepted": True}

    assert judged("close", read) == wanted(case)


@pytest.mark.contract("4.9/proof", "D-10/proof")
def test_the_widget_makes_the_expected_proof() -> None:
    making = VECTORS["proof_making"]
    given = making["given"]
    key = PublicKey(given["jwk"]["x"], given["jwk"]["y"])

    made = widget_proof.build(
        key, token=given["token"], nonce=given["nonce"], htu=given["socket_uri"], jti=given["jti"], now=given["now"]
    )

    assert (made.header, made.claims) == (making["header"], making["claims"])
    header, claims, signature = making["proof"].split(".")
    signed = f"{header}.{claims}".encode()
    assert keys.read_jwk(given["jwk"]).verify(urlsafe_b64decode(f"{signature}=="), signed)
    assert made.signing_input.encode() == signed


@pytest.mark.parametrize("case", cases("call_proofs"))
def test_the_server_judges_the_proofs_of_calls(case: dict[str, Any]) -> None:
    given = VECTORS["call_proofs"]["given"]
    ends = Ends(caller=given["fingerprint"], agent=given["peer_fingerprint"], nonce=given["nonce"])

    def verify() -> dict[str, Any]:
        call_proofs.verify(case["proof"], ends, call_id=given["call_id"], jkt=given["jkt"], now=given["now"])
        return {"accepted": True}

    assert judged("close", verify) == wanted(case)


def test_the_widget_makes_the_honest_proof_of_a_call() -> None:
    given = VECTORS["call_proofs"]["given"]
    header, payload, _ = cases("call_proofs", id="honest")[0].values[0]["proof"].split(".")
    claims = {name: given[name] for name in ("call_id", "nonce", "fingerprint", "peer_fingerprint")}
    jwk = _decoded(header)["jwk"]

    made = call_proof.build(PublicKey(jwk["x"], jwk["y"]), jti=_decoded(payload)["jti"], now=given["now"], **claims)

    assert (made.header, made.claims) == (_decoded(header), _decoded(payload))


def _decoded(segment: str) -> Any:
    return json.loads(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))


def test_every_code_of_tokens_and_proofs_has_a_case() -> None:
    """Two codes are exempt, because a single token or proof cannot cause them."""
    shown = {case.values[0].get("refused") for group in ("tokens", "proofs", "call_proofs") for case in cases(group)}
    elsewhere = {Code.TOKEN_KEY_MISMATCH, Code.TOKEN_REVOKED}

    assert {code for code in Code if code.startswith(("token_", "proof_"))} - elsewhere <= shown


def test_every_kind_of_login_has_an_accepted_case() -> None:
    tokens_shown = [case.values[0] for case in cases("tokens", shown_as="socket token")]

    accepted = {case["accepted"]["login"] for case in tokens_shown if "accepted" in case}

    assert accepted == {"visitor", "custom", "social"}
