"""The data that `debug()` returns about a widget: state and past events, without secrets and personal data."""

from collections.abc import Iterable, Mapping

from chatkey_widget import redaction
from chatkey_widget.context import Context
from chatkey_widget.principal import identity
from chatkey_widget.service_link import ServiceLink


def of(ctx: Context, link: ServiceLink) -> dict[str, object]:
    """Return the data as values that JSON can represent.

    Times are from the page's clock, in seconds since the epoch.
    """
    principal, proof = link.principal, link.last_proof
    return {
        "provider_id": ctx.settings.provider_id,
        "stage": link.stage.name,
        "identity": identity(principal) if principal else None,
        "uid": redaction.plain(principal.uid) if principal else None,
        "visitor_uid": ctx.key.uid if ctx.key else None,
        "jkt": ctx.key.jkt if ctx.key else None,
        "claims": redaction.claims(link.claims) if link.claims else None,
        "proof": {"header": redaction.claims(proof.header), "claims": redaction.claims(proof.claims)}
        if proof
        else None,
        "storage": "degraded" if ctx.counters["storage:degraded"] else "kept",
        "clock_offset": ctx.time.offset,
        "timers": ctx.seconds_left(),
        "counters": dict(ctx.counters),
        "troubles": _past(ctx.troubles),
        "events": _past(ctx.journal),
    }


def _past(entries: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    return [{**entry, "detail": _shown(entry["detail"])} for entry in entries]


def _shown(detail: object) -> dict[str, object]:
    return redaction.detail(detail) if isinstance(detail, Mapping) else {}
