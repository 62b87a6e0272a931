"""claim.cnf: the token names the key that it is bound to, in the claim defined by RFC 7800."""

from __future__ import annotations

import json
from collections.abc import Mapping

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import BOUND, Finding, Severity
from chatkey_check.run import Run

HINT = "Add the claim cnf: {jkt: <the jkt you received>}."


@check(
    "claim.cnf",
    group=BOUND,
    severity=Severity.MUST,
    section="2.4, 7",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="cnf is an object with the member jkt, a string",
    hint=HINT,
    mistakes=(
        "jkt is at the top level",
        "cnf is the jkt itself, a string with JSON, or a list",
        "the member of cnf is called x5t#S256 or jwk",
        "the request's body was not read, so jkt is empty",
    ),
    mend={
        "Python": 'claims["cnf"] = {"jkt": body["jkt"]}',
        "Node.js": "claims.cnf = { jkt: request.body.jkt };",
        "PHP": "$claims['cnf'] = ['jkt' => $body['jkt']];",
    },
    needs=("jwt.payload",),
)
@every_token
def cnf(_run: Run, token: Token) -> Finding:
    """The socket refuses a token without cnf.jkt, because anyone could use a copy of the token."""
    claims = token.claims
    wrong = _wrong(claims)
    if not wrong:
        return passed()
    if "cnf" in token.header:
        return failed(
            f"{wrong[:-1]}; the token's header contains it instead.", token.answer, hint="Move cnf to the claims."
        )
    return failed(wrong, token.answer, hint=_hint(claims))


def _wrong(claims: Mapping[str, object]) -> str:
    value = claims.get("cnf")
    if "cnf" not in claims:
        return f"The claim cnf is missing{_instead(claims)}."
    if not isinstance(value, dict):
        return f"cnf is {_described(value)}, not an object."
    if "jkt" not in value:
        names = ", ".join(value) or "none"
        return f"cnf has no member jkt. Its members: {names}."
    if not isinstance(value["jkt"], str):
        return f"cnf.jkt is {reading.kind(value['jkt'])}, not a string."
    return "" if value["jkt"] else "cnf.jkt is an empty string."


def _instead(claims: Mapping[str, object]) -> str:
    """Name the claim that was probably meant to be `cnf`, or return an empty text."""
    if "cnf.jkt" in claims:
        return "; there is a claim called 'cnf.jkt'"
    if "jkt" in claims:
        return "; jkt is at the top level"
    inside = next((name for name, value in claims.items() if isinstance(value, dict) and "cnf" in value), None)
    if inside:
        return f"; all claims are inside {inside!r}"
    near = next((name for name in claims if name.lower() in {"cnf", "cfn", "conf", "confirmation", "cnf_jkt"}), None)
    return f"; there is a claim called {near!r}" if near else ""


def _described(value: object) -> str:
    if isinstance(value, str):
        try:
            inside = json.loads(value)
        except ValueError:
            inside = None
        return "a string that contains JSON" if isinstance(inside, dict) else "a string"
    return reading.kind(value)


def _hint(claims: Mapping[str, object]) -> str:
    value = claims.get("cnf")
    if isinstance(value, str):
        return "Write cnf as an object, not as a string: cnf: {jkt: <the jkt you received>}."
    if isinstance(value, list):
        return "An empty PHP array becomes a JSON list. Write ['jkt' => $jkt]."
    if isinstance(value, dict) and not isinstance(value.get("jkt", ""), str):
        return "Read jkt from the request's JSON body: the value was not read."
    if isinstance(value, dict) and any(name.startswith("x5t") for name in value):
        return "x5t#S256 is for certificates. " + HINT
    if isinstance(value, dict) and "jwk" in value:
        return "Use the key's fingerprint (jkt), not the key. " + HINT
    if any(isinstance(value, dict) and "cnf" in value for value in claims.values()):
        return "Pass the claims themselves to the library: pid, uid, type and cnf belong at the top level."
    if "cnf.jkt" in claims:
        return "cnf.jkt means the member jkt of cnf, not a claim with that name. " + HINT
    return HINT
