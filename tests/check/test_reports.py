"""Tests of the report formats. All must have the same content, show no secrets, and escape text from the endpoint."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema  # type: ignore[import-untyped]  # it brings no types
import pytest
from tests.check.mutants import self_test
from tests.check.mutants.made_reports import FOUND, HOSTILE, SEEN, hostile, report
from tests.check.mutants.mutant_backend import SECRET, SESSIONS
from tests.check.mutants.mutant_server import Server
from tests.page import Page
from tests.peer.rendering import rendered

from chatkey_check import checks, reports
from chatkey_check.model import Report, Verdict, Where
from chatkey_check.target import Login, Target

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "gettoken-report.json").read_text())
TOTAL = len(checks.ORDER)
LEAKS = ("key-newline", "secret-leak-claim", "secret-leak-b64", "secret-leak-hex", "secret-leak-error", "token-header")
HEADLINE = "claim.cnf: The claim cnf is missing"
FULL = report(FOUND, stale=("x.y: it passes now; remove the line",))
GAP: dict[str, Any] = {"verdict": Verdict.SKIP, "message": "the endpoint limits the rate of calls (429"}
KINDS = {
    "full": FULL,
    "clean": report(),
    "hostile": hostile(),
    "warnings": report({"resp.no-store": FOUND["resp.no-store"]}),
    "unreachable": report({"net.resolves": {"verdict": Verdict.FAIL, "message": "Nothing.", "hint": "Start it."}}),
    "gaps": report({"claim.uid": GAP, "claim.pid": GAP, "resp.no-store": GAP}),
    "partial": report({"resp.no-store": GAP}),
    "silent clock": report(skew=None),
}
each_form = pytest.mark.parametrize("form", reports.NAMES)
each_kind = pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)


def written(form: str, made: Report) -> str:
    return reports.writer(form)(made)


# all formats


@each_form
def test_a_report_has_target_versions_clock_options_the_cause_and_its_curl_line(form: str) -> None:
    text = written(form, FULL)

    wanted = [
        FULL.target,
        "1.2.3",
        "0.4",
        "--provider-id",
        "prov_1",
        "claim.cnf",
        "The claim cnf is missing.",
        "Add it.",
    ]
    assert [word for word in [*wanted, SEEN.curl, "--logout-url URL", "lab pictures"] if word not in text] == []


@each_form
@pytest.mark.parametrize("name", LEAKS)
def test_no_form_contains_a_secret_a_session_or_a_token(form: str, name: str, endpoints: Server) -> None:
    made = self_test.judge(endpoints, name)

    text = written(form, made)

    forms = {SECRET, SECRET.encode().hex(), base64.b64encode(SECRET.encode()).decode().rstrip("="), *SESSIONS.values()}
    assert any(outcome.evidence for outcome in made.outcomes)
    assert [value for value in forms if value in text] == []
    assert re.findall(r"eyJ[\w-]+\.[\w-]+\.[\w-]*", text) == []


@each_form
def test_no_form_shows_a_password_however_it_was_given(form: str, endpoints: Server) -> None:
    def plain(full: Target) -> Target:
        form = full.login.url if full.login else ""
        return replace(full, login=Login(url=form, fields=(("user", "ada"), ("pin", "x + y"))))

    made = self_test.judge(endpoints, "login-by-pin", knowing=plain)

    text = written(form, made)
    assert made.cause is not None
    assert "user=ada" in text
    assert [value for value in ("x + y", "x+%2B+y", "x%20%2B%20y") if value in text] == []


@pytest.mark.parametrize(
    ("made", "headline"),
    [
        (report(), f"{TOTAL} checks passed"),
        (FULL, "An error in chatkey itself"),
        (report({"claim.cnf": FOUND["claim.cnf"]}), HEADLINE),
        (KINDS["warnings"], "It works, with 1 warning"),
        (KINDS["unreachable"], "The endpoint cannot be reached"),
        (report(stale=("x.y: it passes now",)), "The file of known failures is out of date"),
        (report(outcomes=FULL.outcomes[:1]), "Nothing could be judged"),
        (KINDS["gaps"], "Incomplete: 2 necessary checks could not be judged"),
        (KINDS["partial"], f"No problem found: {TOTAL - 1} of {TOTAL} checks passed, 1 not judged"),
        (report({"claim.cnf": FOUND["claim.cnf"], "resp.no-store": GAP}), f"{HEADLINE}, 1 not judged"),
    ],
)
def test_every_form_begins_with_the_headline(made: Report, headline: str) -> None:
    texts = {form: written(form, made) for form in ("json", "html", "markdown")}

    assert json.loads(texts["json"])["headline"] == headline
    assert f"<h1>{headline}</h1>" in texts["html"]
    assert texts["markdown"].splitlines()[0].endswith(f"getToken: {headline}")


@each_form
def test_every_form_says_why_something_was_not_judged(form: str) -> None:
    assert "the endpoint limits the rate of calls (429" in written(form, KINDS["gaps"])


@pytest.mark.parametrize(("form", "read"), [("html", Page), ("markdown", rendered)])
def test_text_of_an_endpoint_stays_text(form: str, read: Callable[[str], Page]) -> None:
    plain = "x" * len(HOSTILE)

    page, expected = (read(written(form, hostile(text))) for text in (HOSTILE, plain))

    assert page.shape == expected.shape
    assert page.blocks == expected.blocks
    assert page.text.replace("`", "'").count(HOSTILE.replace("`", "'")) == expected.text.count(plain) > 0


# JSON


@each_kind
def test_the_json_is_as_its_schema_says(made: Report) -> None:
    jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(
        json.loads(written("json", made))
    )


def test_the_schema_itself_is_one_and_names_every_member_that_is_written() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    text = json.loads(written("json", FULL))

    check = text["checks"][[check["id"] for check in text["checks"]].index("claim.cnf")]
    parts = {"check": check, "call": check["evidence"][0], "fix": check["fix"], "where": check["fix"]["where"]}
    pairs = [(text, SCHEMA), *((part, SCHEMA["$defs"][name]) for name, part in parts.items())]
    for found, schema in pairs:
        assert set(found) == set(schema["required"]) == set(schema["properties"])


@pytest.mark.parametrize(
    ("member", "value"),
    [("result", "fine"), ("checks", []), ("target", "shop"), ("counts", {"pass": 1}), ("skew", "0")],
)
def test_the_schema_refuses_what_is_no_report(member: str, value: object) -> None:
    text = {**json.loads(written("json", FULL)), member: value}

    with pytest.raises(jsonschema.ValidationError) as refused:
        jsonschema.validate(text, SCHEMA)

    assert refused.value.absolute_path[0] == member


@pytest.mark.parametrize(
    ("outcome", "where"),
    [
        ({}, {"part": "claims", "claim": "cnf", "header": None, "file": None, "line": None}),
        ({"where": Where(file="/app/a.py", line=3)}, {"part": "claims", "file": "/app/a.py", "line": 3}),
    ],
)
def test_a_fix_names_its_place(outcome: dict[str, Any], where: dict[str, Any]) -> None:
    made = report({"claim.cnf": {"verdict": Verdict.FAIL, "message": "x", "hint": "y", **outcome}})

    checks = json.loads(written("json", made))["checks"]

    (found,) = (check["fix"]["where"] for check in checks if check["fix"])
    assert {"claim": None, "header": None, **where} == found


def test_the_json_tells_failures_apart() -> None:
    text = json.loads(written("json", FULL))

    assert (text["result"], text["cause"]) == ("ours", "claim.cnf")
    assert text["counts"] == {"pass": TOTAL - 7, "warn": 1, "fail": 3, "skip": 1, "blocked": 1, "error": 1}
    assert text["known_failures_out_of_date"] == ["x.y: it passes now; remove the line"]


# JUnit


def cases(made: Report) -> dict[str, list[str]]:
    """Return the JUnit test cases by name, each with the tags of its child elements."""
    root = ET.fromstring(written("junit", made))
    return {case.attrib["name"]: [child.tag for child in case] for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_check_and_each_entry_that_is_not_needed() -> None:
    found = cases(FULL)

    assert len(found) == TOTAL + 1
    assert {name: tags for name, tags in found.items() if tags} == {
        "claim.cnf": ["failure"],
        "claim.jkt-match": ["skipped"],
        "claim.avatar": ["skipped"],
        "resp.no-store": ["system-out"],
        "resp.cors": ["error"],
        "anon.after-logout": ["skipped"],
        "e2e.widget-member": ["failure"],
        "x.y": ["failure"],
    }


def test_the_totals_of_junit_are_those_of_its_cases() -> None:
    root = ET.fromstring(written("junit", FULL))
    (suite,) = root

    totals = {"tests": str(TOTAL + 1), "failures": "3", "errors": "1", "skipped": "3"}
    about = {"name": "chatkey check", "time": "2.250", **totals}
    assert root.attrib == about
    assert suite.attrib == {**about, "timestamp": "2026-01-02T03:04:05"}
    assert [len(list(root.iter(tag))) for tag in ("failure", "error", "skipped")] == [3, 1, 3]


def test_junit_has_a_case_that_fails_where_what_must_be_judged_was_not() -> None:
    root = ET.fromstring(written("junit", KINDS["gaps"]))

    case = root.find(".//testcase[@name='all necessary checks were judged']")
    assert case is not None
    (failure,) = case
    assert failure.attrib["message"] == "2 checks could not be judged: claim.pid, claim.uid"
    assert (root.attrib["failures"], root.attrib["tests"]) == ("1", str(TOTAL + 1))


def test_a_failure_in_junit_has_message_severity_hint_and_call() -> None:
    root = ET.fromstring(written("junit", FULL))

    case = root.find(".//testcase[@name='claim.cnf']")
    assert case is not None
    (failure,) = case
    assert case.attrib["classname"] == "chatkey check.Is it bound to this browser"
    assert failure.attrib == {"message": "The claim cnf is missing.", "type": "must"}
    assert (failure.text or "").startswith("Add it.\n")
    assert SEEN.curl in (failure.text or "")


@each_kind
def test_junit_can_be_read_whatever_an_endpoint_says(made: Report) -> None:
    assert len(cases(made)) >= TOTAL


# Markdown


def test_a_comment_on_a_run_with_gaps_has_no_tick_and_says_which() -> None:
    text = written("markdown", KINDS["gaps"])

    visible = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert text.startswith("### ⚠️")
    assert "`claim.pid`, `claim.uid`, `resp.no-store`" in visible


def test_a_comment_begins_with_the_cause_and_folds_the_rest() -> None:
    text = written("markdown", FULL)

    visible = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert "**Start here: `claim.cnf`** (contract 2.4, 7)" in visible
    assert "*Known: lab pictures*" in visible
    assert SEEN.curl not in visible
    assert f"```sh\n{SEEN.curl}\n```" in text


# HTML


def test_the_page_allows_its_own_style_and_script_and_nothing_else() -> None:
    page = Page(written("html", FULL))

    (meta,) = page.named("meta", **{"http-equiv": "Content-Security-Policy"})
    parts = [part.strip().partition(" ") for part in (meta["content"] or "").split(";")]
    hashes = {
        kind: f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in page.blocks
    }
    assert {name: value for name, _, value in parts} == {
        "default-src": "'none'",
        "style-src": hashes["style"],
        "script-src": hashes["script"],
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_page_loads_nothing_and_links_to_itself_only() -> None:
    page = Page(written("html", FULL))

    addresses = [value for _, attrs in page.tags for name, value in attrs.items() if name in {"src", "href", "srcset"}]
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert addresses
    assert {address and address[1:] for address in addresses} <= ids
    assert "url(" not in dict(page.blocks)["style"]
    assert "@import" not in dict(page.blocks)["style"]


def test_the_page_has_every_check_once_and_opens_what_was_found() -> None:
    page = Page(written("html", FULL))

    ids = [attrs["id"] for attrs in page.named("li") if "id" in attrs]
    opened = [attrs["class"] for attrs in page.named("details") if "open" in attrs]
    assert ids == [outcome.check.id for outcome in FULL.outcomes]
    assert sorted(filter(None, opened)) == ["error", "fail", "fail", "group", "group", "group", "warn"]
