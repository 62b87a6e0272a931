"""Tests of the marks of scenarios.

An unknown name must be an error, and a mark that does not match the scenario must be reported.
"""

import pytest

from chatkey_e2e import needs

pytest_plugins = ["pytester"]


@pytest.fixture
def item(request: pytest.FixtureRequest, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Item:
    """Return a test with the marks in the parameters. Installed plugins are not loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nmarkers = needs\n any_widget")
    return pytester.getitem(f"import pytest\n\n{request.param}\ndef test_it(): pass\n", "test_it")


@pytest.fixture(autouse=True)
def nothing_noted() -> None:
    """Reset the recorded needs, as happens before every scenario."""
    needs.begin()


def marked(*marks: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("item", ["\n".join(f"@pytest.mark.{mark}" for mark in marks)], indirect=True)


@marked('needs("clock")', 'needs("social:google", "social:apple")')
def test_the_names_of_all_marks_count(item: pytest.Item) -> None:
    assert needs.needed(item) == {"clock", "social:google", "social:apple"}
    assert needs.socials_of(item) == ["google", "apple"]


@marked('needs("clokc")')
def test_an_unknown_name_is_an_error(item: pytest.Item) -> None:
    with pytest.raises(pytest.UsageError, match="'clokc'"):
        needs.needed(item)


@marked('needs("clock")')
def test_a_mark_that_is_true_says_nothing(item: pytest.Item) -> None:
    needs.note_ask("POST", "/clock")

    assert needs.untrue(item) == ""


@marked('needs("clock")')
def test_what_is_used_and_not_said_is_told_and_what_is_said_and_not_used(item: pytest.Item) -> None:
    needs.note_ask("POST", "/faults")

    assert needs.untrue(item).splitlines() == [
        "The test uses 'faults' without declaring it: add @pytest.mark.needs('faults').",
        "The test declares that it needs 'clock', but does not use it.",
    ]


@marked('needs("widget-texts")')
def test_words_on_a_screen_are_not_seen_to_be_used(item: pytest.Item) -> None:
    assert needs.untrue(item) == ""


@marked('needs("kit")')
def test_what_is_about_the_kit_may_use_everything(item: pytest.Item) -> None:
    needs.note("clock")

    assert needs.untrue(item) == ""
    assert needs.missing(item, have={"clock", needs.HANDLE}) == {"kit"}


@marked('needs("agent")')
def test_what_an_agent_does_is_no_account_for_the_panel(item: pytest.Item) -> None:
    needs.note_ask("POST", "/agent")

    assert needs.untrue(item) == ""

    needs.note_ask("POST", "/agents")

    assert needs.untrue(item) == "The test uses 'kit' without declaring it: add @pytest.mark.needs('kit')."


@marked("any_widget")
def test_a_scenario_of_any_widget_may_not_use_the_handle_of_ours(item: pytest.Item) -> None:
    needs.note(needs.HANDLE)

    assert needs.HANDLE in needs.untrue(item)
    assert needs.missing(item, have=()) == set()


@marked('needs("clock")')
def test_what_is_used_for_comfort_alone_is_not_needed(item: pytest.Item) -> None:
    needs.note("clock")
    with needs.for_comfort():
        needs.note_ask("GET", "/members")

    assert needs.untrue(item) == ""
    assert needs.missing(item, have={"clock"}) == {needs.HANDLE}
