"""e2e.socket-accepts: a socket opens with the token and the key that the token is bound to."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import END_TO_END, Finding, Phase, Severity, Unusable
from chatkey_check.run import Run


@check(
    "e2e.socket-accepts",
    group=END_TO_END,
    severity=Severity.MUST,
    section="4.9, 5.5",
    sent="the call with the fingerprint of a new key; then a socket connection with the token and a proof by that key",
    passes="the socket answers ready, for a member with the token's uid",
    hint="`chatkey docs CODE` explains the code with which the socket refuses the token.",
    mistakes=(
        "the service has another secret for this provider",
        "the service does not know the provider",
    ),
    needs=(
        "jwt.signature",
        "jwt.header-clean",
        "jwt.size",
        "claim.jkt-follows",
        "claim.pid",
        "claim.type",
        "claim.uid",
        "claim.exp-absolute",
        "claim.lifetime",
        "claim.iat",
        "claim.nbf",
    ),
    phase=Phase.LATER,
)
def socket_accepts(run: Run) -> Finding:
    """The socket makes the final decision. The checker uses the token and the key like a visitor's browser."""
    try:
        service, answer = run.live.service, run.live.answer
        if answer.token is None:
            return failed(f"The call with the new key got no token ({answer.result}).", answer)
        said = run.live.connect(run.live.key)
    except Unusable as error:
        hint = "Check --service-url and --provider-id: they must belong to the same environment."
        return failed(str(error), *error.about, hint=hint)
    if said.frame["type"] != "ready":
        cause = f" {said.frame['cause']}" if said.frame.get("cause") else ""
        return failed(f"The socket refuses the token: {said.code}. {said.frame.get('message', '')}{cause}", answer)
    if said.frame["identity"] != "member" or said.frame["uid"] != answer.uid:
        who = f"{said.frame['identity']} {reading.shown(said.frame['uid'])}"
        return failed(f"The socket accepts the token, but as the {who}.", answer)
    return passed(f"{service.name} answers ready for the member {reading.shown(answer.uid)}")
