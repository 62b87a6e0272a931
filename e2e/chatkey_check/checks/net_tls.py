"""net.tls: the page is a secure context, and browsers accept the certificate."""

from __future__ import annotations

import ssl

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PRECONDITIONS, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.target import is_loopback

LAB = "In a lab, --ca FILE trusts your own certificate authority, and --insecure-tls trusts any certificate."


@check(
    "net.tls",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    section="5.6",
    sent="a TLS handshake; no request for http on localhost",
    passes="the certificate chain is valid, or the host is this machine",
    hint="Serve the page and the endpoint over https or from localhost, because browsers offer keys only in secure "
    "contexts.",
    mistakes=(
        "the page is served over plain http in the local network",
        "the certificate has expired, is for another name, or is sent without its intermediate certificate",
        "the certificate is from your own authority, and --ca was not given",
    ),
    needs=("net.resolves",),
)
def tls(run: Run) -> Finding:
    """The widget creates its key with crypto.subtle, which browsers offer only in secure contexts."""
    target = run.calls.target
    if target.url.startswith("http:"):
        if is_loopback(target.host):
            return passed("http on this machine is a secure context")
        return failed(f"http://{target.host} is not a secure context, so the widget cannot create its key.")
    try:
        run.calls.wire.shake_hands(target.url)
    except ssl.SSLCertVerificationError as error:
        return failed(f"The certificate is not valid: {error.verify_message}.", hint=f"{_fix(error)} {LAB}")
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        return failed(f"The TLS handshake failed: {reason}.", hint="Check that this port serves https.")
    return passed("any certificate is accepted (--insecure-tls)" if target.insecure_tls else "the chain is valid")


def _fix(error: ssl.SSLCertVerificationError) -> str:
    said = error.verify_message.lower()
    if "expired" in said:
        return "Renew the certificate."
    if "mismatch" in said:
        return "Issue a certificate for exactly this host name."
    return "Send the whole certificate chain, from an authority that browsers trust."
