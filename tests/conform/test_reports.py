"""Tests of a run's results: verdicts, the share of judged sentences of the contract, exit status, and reports."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.page import Page
from tests.peer.rendering import rendered

from chatkey_conform import command, data
from chatkey_conform.case import Case, Family
from chatkey_conform.cli import conform
from chatkey_conform.command import write
from chatkey_conform.data import contract, elsewhere, revisions, scored
from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.transcript import Step, masked
from chatkey_conform.judging.verdict import Broken, OtherRefusal, Verdict
from chatkey_conform.making import token_verdicts
from chatkey_conform.making.issuer import Issuer
from chatkey_conform.reports import html, junit, markdown
from chatkey_conform.reports.document import About, Json, document
from chatkey_conform.reports.exits import status
from chatkey_conform.reports.words import headline, unjudged
from chatkey_conform.running.outcome import Outcome, Result
from chatkey_conform.running.runner import Run
from chatkey_conform.subject.subject import Subject
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.target import TargetError, read_target
from chatkey_peer.exits import Exit
from chatkey_peer.forms import forms
from chatkey_peer.key import BrowserKey
from chatkey_protocol.names import REVISION

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "conform-report.json"
SAMPLE = Path(__file__).parents[2] / "e2e" / "chatkey_conform" / "sample.toml"
BOTH = frozenset({"4.1/no-token", "D-10/hello"})


def case(name: str, *sentences: str) -> Case:
    return Case(name, "Something is so.", sentences, "socket.md#opening", "Smoke", lambda _: None)


def result(*verdicts: Verdict, known: dict[str, str] | None = None) -> Result:
    """Return the result of a run that judged two sentences of the contract.

    `verdicts` are the verdicts of the first sentence's cases. The only case of the second sentence passed.
    """
    steps = (Step("GET /v1", "200 <b>no</b>"),)
    outcomes = [
        Outcome(case(f"smoke/{at}", "4.1/no-token"), verdict, "" if verdict is Verdict.PASSED else "so it is", steps)
        for at, verdict in enumerate(verdicts)
    ]
    passed = Outcome(case("smoke/other", "D-10/hello"), Verdict.PASSED)
    return Result((*outcomes, passed), BOTH, 1.25, known or {})


def report_of(made: Result, part: str = "") -> Json:
    about = About("My chat service", "1.0", "http://localhost:8800", "prepared", 2, frozenset({"search"}))
    return document(made, about, suite="0.1", started="2026-01-01T00:00:00+00:00", part=part)


# the sentences that are scored


def test_the_sentences_of_the_cases_are_those_scored_in_the_contract() -> None:
    named = {sentence for found in cases() for sentence in found.sentences}

    assert named <= contract().keys()
    assert named == scored(REVISION)["service"]


def test_a_revision_adds_to_the_sentences_of_the_revision_before() -> None:
    assert revisions()[-1] == REVISION
    assert scored(2).keys() == scored(3).keys()
    assert {side: len(ids) for side, ids in scored(2).items()} == {"service": 130, "scenarios": 64, "widget": 44}
    assert scored(3)["service"] - scored(2)["service"] == {
        "4.5/page",
        "5.7/verified-origin",
        "D-22/bound",
        "D-22/relay",
        "D-22/ends",
    }


def test_a_part_is_named_for_every_must_sentence_that_is_not_scored() -> None:
    musts = {name for name, entry in contract().items() if entry["level"] == "must"}
    named = [name for ids in elsewhere().values() for name in ids]

    assert sorted(named) == sorted(musts - scored(REVISION)["service"])


def test_every_case_has_a_unique_id_a_sentence_a_title_and_a_page() -> None:
    ids = [found.id for found in cases()]

    assert len(ids) == len(set(ids))
    assert [found.id for found in cases() if not (found.sentences and found.title and found.page)] == []


@pytest.mark.parametrize("page", sorted({found.page.partition("#")[0] for found in cases()}))
def test_a_case_names_a_heading_that_its_page_has(page: str) -> None:
    text = (SCHEMA.parents[1] / page).read_text().lower()
    wanted = {found.page.partition("#")[2] for found in cases() if found.page.startswith(f"{page}#")}

    assert [anchor for anchor in wanted if f"# {anchor.replace('-', ' ')}\n" not in text] == []


# verdicts


@pytest.mark.parametrize(
    ("verdicts", "verdict", "exit_status"),
    [
        ((Verdict.PASSED, Verdict.NOT_APPLICABLE), Verdict.PASSED, Exit.CLEAN),
        ((Verdict.PASSED, Verdict.FAILED), Verdict.FAILED, Exit.FAILED),
        ((Verdict.FAILED, Verdict.ERROR), Verdict.FAILED, Exit.FAILED),
        ((Verdict.PASSED, Verdict.ERROR), Verdict.ERROR, Exit.OURS),
        ((Verdict.NOT_APPLICABLE,), Verdict.NOT_APPLICABLE, Exit.CLEAN),
        ((Verdict.NOT_RUN,), Verdict.NOT_RUN, Exit.NOT_ALL_JUDGED),
        ((), Verdict.NOT_RUN, Exit.NOT_ALL_JUDGED),
        ((Verdict.KNOWN, Verdict.PASSED), Verdict.KNOWN, Exit.CLEAN),
    ],
)
def test_a_sentence_has_the_worst_verdict_of_its_cases(
    verdicts: tuple[Verdict, ...], verdict: Verdict, exit_status: Exit
) -> None:
    made = result(*verdicts)

    assert {sentence.id: sentence.verdict for sentence in made.sentences}["4.1/no-token"] is verdict
    assert status(made) is exit_status


def test_the_verdict_comes_with_the_share_judged_and_names_unjudged_must_sentences() -> None:
    report = report_of(result(Verdict.NOT_RUN))

    assert "nothing failed, 1 of 2 sentences judged (50 %)" in headline(report)
    assert unjudged(report) == "Not judged, although they are must sentences: 4.1/no-token."


def test_a_part_of_the_suite_has_a_status_of_its_own_and_the_report_says_which_part() -> None:
    made = result(Verdict.NOT_RUN)
    report = report_of(made, part="the smoke cases")

    assert (status(made), status(made, part="the smoke cases")) == (Exit.NOT_ALL_JUDGED, Exit.CLEAN)
    assert (report["exit"], report["part"]) == (Exit.CLEAN, "the smoke cases")
    assert unjudged(report) == "Only the smoke cases ran; 1 must sentences were not judged."


@pytest.mark.parametrize(
    ("sentence", "other_status", "failed"),
    [
        ("2.4/exp", True, ["D-10/checks"]),
        ("7/missing-400", False, ["D-10/checks"]),
        ("7/missing-400", True, ["7/missing-400", "D-10/checks"]),
        ("D-10/nonce", False, ["D-10/checks", "D-10/nonce"]),
    ],
)
def test_a_refusal_with_another_code_is_charged_to_the_profile(
    sentence: str, other_status: bool, failed: list[str]
) -> None:
    refusal = OtherRefusal("code: expected a, got b", "D-10/checks", other_status=other_status)
    outcome = Outcome(case("tokens/x", sentence), Verdict.FAILED, "code", refusal=refusal)
    made = Result((outcome,), frozenset({sentence, "D-10/checks"}))

    assert [found.id for found in made.failed] == failed
    assert {found.verdict for found in made.sentences} <= {Verdict.FAILED, Verdict.NOT_STRICT}
    assert status(made) is Exit.FAILED


@pytest.mark.parametrize(("revision", "since", "verdict"), [(2, 3, Verdict.NOT_SCORED), (3, 3, None), (2, 2, None)])
def test_a_case_that_is_newer_than_the_declared_revision_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: int, since: int, verdict: Verdict | None
) -> None:
    family = Family("smoke", "Smoke", "socket.md#opening")

    @family.judges(
        "D-22/bound", since=since, each={"passed": None, "failed": Broken("no"), "error": HarnessError("no")}
    )
    def something(_: Subject, error: Exception | None) -> None:
        """Something is so."""
        if error is not None:
            raise error

    path = tmp_path / "target.toml"
    path.write_text(SAMPLE.read_text().replace("revision = 3 ", f"revision = {revision} "))
    monkeypatch.setenv("SHOP_SECRET", "a-secret-of-at-least-thirty-two-bytes")
    with closing(World(read_target(path))) as world:
        outcomes = Run(world).judge(family.cases).outcomes

    own = [Verdict.PASSED, Verdict.FAILED, Verdict.ERROR]
    assert [outcome.verdict for outcome in outcomes] == ([verdict] * 3 if verdict else own)


@pytest.mark.parametrize(
    ("declared", "verdict"),
    [
        ("revision = 2", Verdict.NOT_SCORED),
        ('revision = 2\ndate = "2026-11-23"', Verdict.NOT_SCORED),
        ('revision = 2\ndate = "2026-11-24"', Verdict.FAILED),
        ("revision = 3", Verdict.FAILED),
    ],
)
def test_a_case_that_was_added_to_a_published_revision_counts_from_its_date_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str, verdict: Verdict
) -> None:
    later = "opening/a-page-without-a-secure-origin-of-its-own-is-refused[capitals]"

    def fails(_: Subject) -> None:
        raise Broken("no")

    path = tmp_path / "target.toml"
    path.write_text(SAMPLE.read_text().replace("revision = 3 ", f"{declared}\n"))
    monkeypatch.setenv("SHOP_SECRET", "a-secret-of-at-least-thirty-two-bytes")
    with closing(World(read_target(path))) as world:
        [outcome] = Run(world).judge([replace(case(later, "D-10/insecure-origin"), run=fails)]).outcomes

    assert outcome.verdict is verdict


def test_every_entry_of_the_later_cases_is_for_cases_that_exist() -> None:
    entries = [entry for found in data.later().values() for entry in found]

    assert [entry for entry in entries if not any(data.fits(entry, found.id) for found in cases())] == []


def test_a_known_failure_that_passes_is_told() -> None:
    assert result(Verdict.PASSED, known={"4.1/no-token": "we know"}).mended == ["4.1/no-token"]
    assert result(Verdict.KNOWN, known={"4.1/no-token": "we know"}).mended == []


def test_an_unknown_id_among_known_failures_is_reported_but_not_a_scenario() -> None:
    of_a_browser = {"3/logout": "it stays", "test_a_restart_of_the_service_is_survived": "nothing is kept"}

    assert result(Verdict.PASSED, known={"smoke/nothing": "we know", **of_a_browser}).mended == ["smoke/nothing"]


def test_a_scenario_among_known_failures_is_reported_once_scenarios_have_run() -> None:
    known = {"test_fails": "we know", "test_passes": "we knew"}
    failed, passed = (
        Outcome(case(f"test_any_widget.py::{name}[github]", "3/logout"), verdict)
        for name, verdict in (("test_fails", Verdict.KNOWN), ("test_passes", Verdict.PASSED))
    )

    assert Result((failed, passed), frozenset({"3/logout"}), known=known).mended == ["test_passes"]


# the forms


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_report_fits_its_schema_and_every_form_is_written(tmp_path: Path, verdict: Verdict) -> None:
    report = report_of(result(verdict))

    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(report)
    write(report, tmp_path / "one")
    write(report, tmp_path / "two", json.loads((tmp_path / "one" / "report.json").read_text()))

    page = (tmp_path / "two" / "matrix.html").read_text()
    assert page.count('class="verdict"') == 2
    assert "<b>no</b>" not in page
    junit = ElementTree.parse(tmp_path / "one" / "junit.xml").getroot()
    assert junit.attrib["tests"] == "2"
    assert headline(report) in (tmp_path / "one" / "report.md").read_text()
    badge = json.loads((tmp_path / "one" / "badge.json").read_text())
    assert badge["color"] == {Verdict.FAILED: "red"}.get(verdict, badge["color"]) != ""


HOSTILE = '<script>alert(1)</script> "><img src=x onerror=alert(1)> ``` `x` |a| @team [b](javascript:x) ]]>'
OURS = {"verdict", "level", "text", "group", "started"}


def quoting(said: str, value: Any, name: str = "") -> Any:
    """Return a report with `said` added to each text, except the texts of the suite itself."""
    if isinstance(value, dict):
        return {key: quoting(said, inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [quoting(said, inner, name) for inner in value]
    return f"{value} {said}" if isinstance(value, str) and name not in OURS else value


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (markdown.write, rendered),
        (junit.write, Page),
        (lambda report: html.write(report, report), Page),
        (lambda report: html.index({"a/matrix.html": report}), Page),
    ],
    ids=["markdown", "junit", "matrix", "index"],
)
def test_text_of_a_service_stays_text(write: Callable[[Json], str], read: Callable[[str], Page]) -> None:
    report = report_of(result(Verdict.FAILED, Verdict.ERROR, Verdict.NOT_RUN))
    report |= {"mended": ["smoke/x"], "missing": {"calls": "Calls."}, "unjudged_must": [{"id": "3/x", "reason": "x"}]}

    def page_of(said: str) -> Page:
        counts = {**report["counts"], "known failure": f"1; {said}"}
        return read(write(quoting(said, report) | {"counts": counts}))

    page, expected = page_of(HOSTILE), page_of("MARK")

    assert page.shape == expected.shape
    assert page.blocks == expected.blocks
    assert [attrs.get("style") for _, attrs in page.tags] == [attrs.get("style") for _, attrs in expected.tags]
    assert page.text.count(HOSTILE) == expected.text.count("MARK") > 0


def test_an_index_lists_all_reports_with_the_newest_first(tmp_path: Path) -> None:
    for name, began in (("old #1", "2025-01-01T00:00:00+00:00"), ("new", "2026-02-02T00:00:00+00:00")):
        report = report_of(result(Verdict.FAILED)) | {"started": began}
        write(report, tmp_path / "reports" / name)

    run = CliRunner().invoke(conform, ["--index", str(tmp_path / "reports")])

    page = (tmp_path / "reports" / "index.html").read_text()
    assert run.exit_code == Exit.CLEAN, run.output
    assert page.index("new/matrix.html") < page.index("old%20%231/matrix.html")


def test_no_line_of_a_service_is_a_command_for_a_ci_runner(capsys: pytest.CaptureFixture[str]) -> None:
    command._tell(Outcome(case("smoke/x"), Verdict.FAILED, "it said:\n::error::x"))

    assert "\n|::error::x" in capsys.readouterr().out


def test_failures_come_first_and_have_their_time(tmp_path: Path) -> None:
    report = report_of(result(Verdict.FAILED))
    write(report, tmp_path)

    page = (tmp_path / "matrix.html").read_text()
    assert page.index("<h2>Failed</h2>") < page.index("<h2>Decisions of the profile</h2>")
    assert report["times"] == {}


def test_names_of_hosts_are_shown_and_states_are_not() -> None:
    shown = masked('GET https://accounts.service.example/auth?state=v1.local.abcdefgh&jkt=x {"nonce": "abc"}')

    assert shown == 'GET https://accounts.service.example/auth?state=[redacted]&jkt=x {"nonce": "abc"}'


SECRET = "Zt9-kQ2vXw7LmB4rY8sN1pD6uF3h+/&"
TOKENS = [Issuer("shop", SECRET, lambda: 1_800_000_000.0).token(), BrowserKey().prove(token="t", nonce="n", htu="ws:")]


@pytest.mark.parametrize(
    "said",
    [
        f"Bearer {TOKENS[0]}",
        f"https://shop.example/?t={TOKENS[1]}#{TOKENS[0]}",
        f"assert '{TOKENS[0][:12]}...{TOKENS[0][-12:]}' == '[redacted]'\n  - {TOKENS[0][30:]}\n  + null",
        f"{SECRET} \x1b[31m",
        json.dumps({"secret_key": SECRET, "part": SECRET[5:-5]}),
        base64.b64encode(f"shop:{SECRET}".encode()).decode(),
        quote(SECRET, safe=""),
    ],
    ids=["header", "address", "comparison", "text", "json", "base64", "query"],
)
def test_no_secret_of_a_run_is_shown_in_any_place_of_any_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    """All of the texts that a service, an adapter, a page or a file can supply must be masked in all forms."""
    test = replace(case(f"tokens/x {said}", "4.1/no-token"), title=said, page=said, group=said)
    outcomes = [Outcome(test, verdict, said, (Step(said, said),)) for verdict in Verdict]
    about = About(said, said, said, said, 2, frozenset({said}), frozenset({SECRET}))
    made = Result(tuple(outcomes), BOTH, known={f"smoke/{said}": said})

    write(document(made, about, suite=said, started="2026-01-01T00:00:00+00:00", part=said), tmp_path)
    for outcome in outcomes:
        command._tell(outcome, {SECRET})

    written = [path.read_text() for path in tmp_path.iterdir()] + [capsys.readouterr().out]
    parts = {
        form[at : at + 12] for secret in (SECRET, *TOKENS) for _, form in forms(secret) for at in range(len(form) - 11)
    }
    assert [part for part in parts for text in written if part in text] == []
    assert all("[redacted]" in text or "schemaVersion" in text for text in written)


# TARGET.toml, and the command


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('have = ["search", "calls"]', 'have = ["serch"]', "did you mean 'search'"),
        ('grade = "prepared"', 'grade = "lab"', "[businesses] needs url"),
        ('grade = "prepared"', 'grade = "magic"', "grade"),
        ("revision = 3 ", "revision = 9 ", "write a revision that this suite scores: 2 and 3"),
        ("revision = 3 ", 'date = "soon" ', "soon"),
        ("revision = 3 ", "revision = 1 ", "write a revision that this suite scores: 2 and 3"),
        ('base_url = "http://localhost:8800"', 'base_url = "localhost"', "target.base_url is 'localhost'; write"),
        ('name = "My chat service"', 'nam = "x"', "nam"),
        ("[limits]", "[limits]\nbody = 5", "body"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "t.toml"
    text = SAMPLE.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(TargetError) as refused:
        read_target(path)

    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_run_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.toml"
    path.write_text(SAMPLE.read_text().replace(":8800", ":1"))
    without_secret = CliRunner().invoke(conform, [str(path)])
    monkeypatch.setenv("SHOP_SECRET", "k" * 32)

    nobody, nothing = (CliRunner().invoke(conform, [str(path), *options]) for options in ([], ["-k", "zzzz"]))

    assert without_secret.exit_code == nobody.exit_code == nothing.exit_code == Exit.NOT_STARTED
    assert "-k 'zzzz' selects no case" in nothing.stderr
    assert "SHOP_SECRET" in without_secret.stderr
    assert "No response from http://localhost:1" in nobody.stderr


def test_a_run_does_not_start_with_an_unknown_capability_or_a_report_that_is_none(tmp_path: Path) -> None:
    path, old = tmp_path / "t.toml", tmp_path / "report.json"
    adapter = json.dumps([sys.executable, "-c", 'print(\'{"data": ["serch"]}\')'])
    path.write_text(
        f'[target]\nname = "A service"\nbase_url = "http://localhost:1"\n'
        f'[businesses]\ngrade = "command"\ncommand = {adapter}\n'
    )
    old.write_text("no JSON")

    declared = CliRunner().invoke(conform, [str(path)])
    compared = CliRunner().invoke(conform, [str(path), "--compare", str(old)])

    assert declared.exit_code == compared.exit_code == Exit.NOT_STARTED
    assert "did you mean 'search'" in declared.stderr
    assert f"{old} is not a report" in compared.stderr


def test_a_mistake_of_the_suite_has_a_status_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.toml"
    path.write_text(SAMPLE.read_text())
    monkeypatch.setattr(command, "read_target", {}.__getitem__)

    run = CliRunner().invoke(conform, [str(path)])

    assert run.exit_code == Exit.OURS
    assert "An error in the suite, not in the service: KeyError" in run.stderr


@pytest.mark.parametrize("secret", [*("x" * size for size in (1, 32, 33, 34, 35)), "ä" * 33, "-_ of words!"])
def test_a_token_of_every_row_can_be_made_for_every_secret(secret: str) -> None:
    """In one of ten rows, the secret itself is decoded, repeated or cut."""

    class Socket:
        kind: ClassVar[str] = "socket"
        shop = Issuer("shop", secret, lambda: 1_800_000_000.0)
        claims = shop.claims

        def accept(self, token: str) -> None: ...

        def refuse(self, token: str, code: str) -> None: ...

    assert all(row.make(Socket()) for row in token_verdicts.REFUSED if "socket" in row.kinds)


def test_the_command_lists_its_cases_and_gives_a_file_to_begin_with() -> None:
    listed = CliRunner().invoke(conform, ["--list", "-k", "smoke/"])

    assert len(listed.stdout.splitlines()) == len([found for found in cases() if found.id.startswith("smoke/")])
    assert CliRunner().invoke(conform, ["--init"]).stdout == SAMPLE.read_text()
    assert CliRunner().invoke(conform, []).exit_code == 2
