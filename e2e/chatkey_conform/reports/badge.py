"""The badge, as JSON for an endpoint badge of shields.io."""

from __future__ import annotations

import json
from typing import Any


def write(report: dict[str, Any]) -> str:
    """Return the badge with the share of judged sentences. It is bright green if all were judged and none failed."""
    failed, judged, scored = report["counts"]["failed"], report["judged"], report["scored"]
    colour = "red" if failed else "brightgreen" if judged == scored else "green" if judged else "lightgrey"
    told = f"{failed} failed of {judged}" if failed else f"{judged} of {scored} judged, none failed"
    badge = {
        "schemaVersion": 1,
        "label": f"{report['profile']} r{report['revision']}",
        "message": told,
        "color": colour,
    }
    return json.dumps(badge, indent=2) + "\n"
