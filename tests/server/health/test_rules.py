"""The rules, alerts and dashboard in `deploy/` must use existing metrics only. The docs must list these metrics."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client.parser import text_string_to_metric_families
from tests.listening import program
from tests.server.test_serve import Served, serving

from chatkey_peer.key import BrowserKey
from chatkey_peer.peer import peer

ROOT: Final = Path(__file__).parents[3]
PROMETHEUS: Final = ROOT / "deploy" / "prometheus"
DASHBOARD: Final = ROOT / "deploy" / "grafana" / "dashboard.json"
METRICS_PAGE: Final = ROOT / "docs" / "metrics.md"
ALERTS_PAGE: Final = ROOT / "docs" / "alerts.md"
OBJECTIVES_PAGE: Final = ROOT / "docs" / "monitoring.md"

TOKEN: Final = "a-token-for-prometheus"
METRIC: Final = re.compile(r"\b(chatkey[\w:]*|up)\b(?:\{([^}]*)\})?")
MATCHER: Final = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
GROUPED: Final = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
SCRAPED: Final = {"up": {"job": {"chatkey"}}}
"""Metrics and labels that Prometheus adds by itself, besides `instance`."""
VARIABLES: Final = {"$__rate_interval": "5m", "$instance": ".*"}
"""Values for the variables that Grafana fills in."""

Exposed = Mapping[str, Mapping[str, set[str]]]
"""The values that were exposed, by metric and label."""


def rules() -> list[dict[str, Any]]:
    files = (yaml.safe_load((PROMETHEUS / name).read_text()) for name in ("rules.yaml", "alerts.yaml"))
    return [rule for file in files for group in file["groups"] for rule in group["rules"]]


def queries() -> list[str]:
    """Return every query in the rules, alerts and dashboard."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    return [rule["expr"] for rule in rules()] + shown


@pytest.fixture
def exposed(tmp_path: Path, redis_url: str) -> Exposed:
    """The metrics of a server after a visitor's message, a request to a wrong path, and a failed request."""
    settings = {"CHATKEY_REDIS_URL": redis_url, "CHATKEY_MASTER_KEY": "m" * 32, "CHATKEY_METRICS_TOKEN": TOKEN}
    with serving(tmp_path, CHATKEY_LAB="1", **settings) as served:
        shop = served.lab("/providers", {"socials": {}})["id"]
        served.lab("/faults", {"where": "/v1/public/provider/broken", "action": "status", "status": 503, "times": 1})
        for path in ("/v1/public/provider/broken", "/nowhere", "/health/ready"):
            served.request("GET", path)
        _write(served, shop)
        _scrape(served)  # the next scrape counts this one
        text = _scrape(served)
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            for label, value in sample.labels.items():
                found[sample.name][label].add(value)
            found[sample.name]["instance"].add("")
    return found


def _scrape(served: Served) -> str:
    _, _, text = served.request("GET", "/metrics", {"Authorization": f"Bearer {TOKEN}"})
    return text


def _write(served: Served, shop: str) -> None:
    key, uri = BrowserKey(), f"ws://localhost:{served.port}/v1/socket"
    _, _, answer = served.request("GET", f"/v1/public/provider/{shop}/token?uid=v_{key.jkt}")
    with peer(uri, origin=None, ca=None) as visitor:
        assert visitor.connect_with(json.loads(answer)["data"]["auth_token"], key).code == "ready"
        visitor.send({"type": "message", "id": "m1", "body": "hello"})
        assert visitor.receive()["type"] == "ack"


def named(query: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield every metric in a query, with the names and values of its labels."""
    for match in METRIC.finditer(query):
        yield match[1], MATCHER.findall(match[2] or "")


def test_queries_name_only_metrics_and_labels_that_a_running_service_exposes(exposed: Exposed) -> None:
    known = {**exposed, **SCRAPED, **{rule["record"]: {} for rule in rules() if "record" in rule}}

    for query in queries():
        metrics = list(named(query))
        assert metrics, query
        for metric, matchers in metrics:
            assert metric in known, query
            for label, value in matchers:
                assert label in known[metric], query
                for one in value.split("|") if value not in VARIABLES else ():
                    assert any(re.fullmatch(one, seen) for seen in known[metric][label]), f"{one!r} in {query}"
        labels = {label for metric, _ in metrics for label in known[metric]}
        for grouped in GROUPED.findall(query):
            assert set(re.split(r",\s*", grouped)) <= labels, query


def test_every_metric_is_documented_with_its_labels_and_the_other_way_round(exposed: Exposed) -> None:
    rows = re.findall(r"^\| `(chatkey_\w+)(?:\{([\w,]+)\})?` \|", METRICS_PAGE.read_text(), re.MULTILINE)
    documented = {metric: set(filter(None, labels.split(","))) for metric, labels in rows}

    found: dict[str, set[str]] = {}
    for sample, labels in exposed.items():
        if sample.startswith("chatkey_"):
            found.setdefault(re.sub("_(bucket|count|sum)$", "", sample), set()).update(
                labels.keys() - {"instance", "le"}
            )
    assert documented == found


def test_each_alert_has_a_severity_and_a_section_of_its_name() -> None:
    alerts = [rule for rule in rules() if "alert" in rule]
    sections = re.findall(r"^## (Chatkey\w+)$", ALERTS_PAGE.read_text(), re.MULTILINE)

    assert sections == [alert["alert"] for alert in alerts]
    for alert in alerts:
        assert alert["labels"]["severity"] in {"critical", "warning"}
        assert alert["annotations"]["runbook"] == f"docs/alerts.md#{alert['alert'].lower()}"


def test_the_page_shows_the_query_of_each_objective() -> None:
    recorded = {rule["record"]: " ".join(rule["expr"].split()) for rule in rules() if "record" in rule}
    shown = dict(re.findall(r"\| `(chatkey:\w+:ratio_30d)` \| `(.+)` \|$", OBJECTIVES_PAGE.read_text(), re.MULTILINE))

    assert {name: query.replace("\\|", "|") for name, query in shown.items()} == {
        name: query for name, query in recorded.items() if name.endswith("_30d")
    }


def told(*arguments: str | Path) -> str:
    """Run promtool. Returns the output if promtool finds a fault, and otherwise an empty string."""
    command = [program("promtool", "prometheus"), *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout + ran.stderr if ran.returncode else ""


def test_each_alert_fires_on_its_trouble_and_not_otherwise() -> None:
    tests = ROOT / "tests" / "deploy" / "alerts_test.yaml"
    tested = set(re.findall(r"alertname: (\w+)", tests.read_text()))

    assert told("test", "rules", tests) == ""
    assert tested == {rule["alert"] for rule in rules() if "alert" in rule}


def test_every_query_can_be_parsed(tmp_path: Path) -> None:
    shown = queries()
    for variable, value in VARIABLES.items():
        shown = [query.replace(variable, value) for query in shown]
    made = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(shown)]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": made}]}))

    assert told("check", "rules", tmp_path / "queries.yaml") == ""
    shutil.copytree(PROMETHEUS, tmp_path / "prometheus")
    assert told("check", "config", "--syntax-only", tmp_path / "prometheus" / "prometheus.yaml") == ""
