"""Tests of the marks of scenarios.

An unknown name must be an error, and a mark that does not match the scenario must be reported.
"""

import pytest

from chatkey_e2e import needs

pytest_plugins = ["pytester"]
UNDECLARED, UNUSED = "The test uses '{0}' without declaring it: add", "The test declares that it needs '{0}', but does"


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the recorded needs, as happens before every scenario. Installed plugins are not loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    needs.begin()


def marked(pytester: pytest.Pytester, *marks: str) -> pytest.Item:
    pytester.makeini("[pytest]\nmarkers = needs\n any_widget")
    lines = "\n".join(f"@pytest.mark.{mark}" for mark in marks)
    return pytester.getitem(f"import pytest\n\n{lines}\ndef test_it(): pass\n", "test_it")


@pytest.mark.parametrize(
    ("mark", "noted", "asked", "said"),
    [
        ('needs("clock")', [], ["/clock"], []),
        ('needs("clock")', [], ["/faults"], [UNDECLARED.format("faults"), UNUSED.format("clock")]),
        ('needs("social")', ["social:github"], [], []),
        ('needs("social")', [], [], [UNUSED.format("social")]),
        ('needs("widget-texts")', [], [], []),
        ('needs("kit")', ["clock"], [], []),
        ('needs("agent")', [], ["/agent"], []),
        ('needs("agent")', [], ["/agents"], [UNDECLARED.format("kit"), UNUSED.format("agent")]),
        ("any_widget", [needs.HANDLE], [], [f"The test uses '{needs.HANDLE}'"]),
    ],
)
def test_undeclared_and_unused_needs_are_reported(
    pytester: pytest.Pytester, mark: str, noted: list[str], asked: list[str], said: list[str]
) -> None:
    item = marked(pytester, mark)

    for name in noted:
        needs.note(name)
    for path in asked:
        needs.note_ask("POST", path)

    lines = needs.untrue(item).splitlines()
    assert [line[: len(start)] for line, start in zip(lines, said, strict=True)] == said


@pytest.mark.parametrize(
    ("mark", "have", "missing"),
    [
        ('needs("social")', {"clock", needs.HANDLE, "social:github"}, set()),
        ('needs("social")', {"clock", needs.HANDLE}, {"social"}),
        ('needs("kit")', {"clock", needs.HANDLE}, {"kit"}),
        ('needs("clock")', {"clock"}, {needs.HANDLE}),
        ("any_widget", set(), set()),
    ],
)
def test_what_a_target_lacks_is_named(pytester: pytest.Pytester, mark: str, have: set[str], missing: set[str]) -> None:
    assert needs.missing(marked(pytester, mark), have) == missing


def test_the_names_of_several_marks_are_combined(pytester: pytest.Pytester) -> None:
    item = marked(pytester, 'needs("clock")', 'needs("social:google", "social:apple")')

    assert needs.needed(item) == {"clock", "social:google", "social:apple"}
    assert needs.socials_of(item, "github") == ["google", "apple"]


def test_an_unknown_name_is_an_error(pytester: pytest.Pytester) -> None:
    with pytest.raises(pytest.UsageError, match="'clokc'"):
        needs.needed(marked(pytester, 'needs("clokc")'))


def test_capabilities_used_for_convenience_are_not_needed(pytester: pytest.Pytester) -> None:
    item = marked(pytester, 'needs("clock")')
    needs.note("clock")

    with needs.for_comfort():
        needs.note_ask("GET", "/members")

    assert needs.untrue(item) == ""
