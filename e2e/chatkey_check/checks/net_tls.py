"""net.tls: the page is a secure context, and browsers accept the certificate."""

from __future__ import annotations

import ssl

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PRECONDITIONS, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.target import is_loopback

LAB = "--ca FILE trusts an authority of your own, --insecure-tls any certificate, for a lab."


@check(
    "net.tls",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    section="5.6",
    sent="a TLS handshake; nothing for http on localhost",
    passes="the certificate chain is valid, or the host is this machine",
    hint="Serve the page and the endpoint by https, or from localhost: browsers give keys to secure contexts only.",
    mistakes=(
        "the page is served by plain http on the local network",
        "the certificate has ended, is for another name, or lacks the one between it and its authority",
        "a certificate of your own authority, which --ca would tell of",
    ),
    needs=("net.resolves",),
)
def tls(run: Run) -> Finding:
    """The widget creates its key with crypto.subtle, which browsers offer in secure contexts only."""
    target = run.calls.target
    if target.url.startswith("http:"):
        if is_loopback(target.host):
            return passed("http on this machine is a secure context")
        return failed(f"http://{target.host} is no secure context: the widget gets no key there.")
    try:
        run.calls.wire.shake_hands(target.url)
    except ssl.SSLCertVerificationError as error:
        return failed(f"The certificate is not accepted: {error.verify_message}.", hint=f"{_fix(error)} {LAB}")
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        return failed(f"The TLS handshake fails: {reason}.", hint="Does this port speak https at all?")
    return passed("any certificate is accepted (--insecure-tls)" if target.insecure_tls else "the chain is valid")


def _fix(error: ssl.SSLCertVerificationError) -> str:
    said = error.verify_message.lower()
    if "expired" in said:
        return "Renew the certificate."
    if "mismatch" in said:
        return "Issue a certificate for this very host name."
    return "Send the whole chain, from an authority that browsers trust."
