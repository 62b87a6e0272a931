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
def test_the_names_of_several_marks_are_combined(item: pytest.Item) -> None:
    assert needs.needed(item) == {"clock", "social:google", "social:apple"}
    assert needs.socials_of(item, "github") == ["google", "apple"]


@marked('needs("clock", "social")')
def test_one_social_login_is_that_of_any_provider(item: pytest.Item) -> None:
    needs.note("clock")
    needs.note("social:github")

    assert needs.socials_of(item, "github") == ["github"]
    assert needs.missing(item, {"clock", needs.HANDLE, "social:github"}) == frozenset()
    assert needs.missing(item, {"clock", needs.HANDLE}) == {"social"}
    assert needs.untrue(item) == ""


@marked('needs("social")')
def test_a_social_login_that_is_declared_and_not_used_is_reported(item: pytest.Item) -> None:
    assert needs.untrue(item) == "The test declares that it needs 'social', but does not use it."


@marked('needs("clokc")')
def test_an_unknown_name_is_an_error(item: pytest.Item) -> None:
    with pytest.raises(pytest.UsageError, match="'clokc'"):
        needs.needed(item)


@marked('needs("clock")')
def test_a_correct_declaration_causes_no_message(item: pytest.Item) -> None:
    needs.note_ask("POST", "/clock")

    assert needs.untrue(item) == ""


@marked('needs("clock")')
def test_undeclared_and_unused_needs_are_reported(item: pytest.Item) -> None:
    needs.note_ask("POST", "/faults")

    assert needs.untrue(item).splitlines() == [
        "The test uses 'faults' without declaring it: add @pytest.mark.needs('faults').",
        "The test declares that it needs 'clock', but does not use it.",
    ]


@marked('needs("widget-texts")')
def test_reading_text_from_the_screen_is_not_recorded_as_a_need(item: pytest.Item) -> None:
    assert needs.untrue(item) == ""


@marked('needs("kit")')
def test_a_test_that_needs_the_kit_may_use_everything(item: pytest.Item) -> None:
    needs.note("clock")

    assert needs.untrue(item) == ""
    assert needs.missing(item, have={"clock", needs.HANDLE}) == {"kit"}


@marked('needs("agent")')
def test_acting_as_an_agent_does_not_need_the_kit(item: pytest.Item) -> None:
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
def test_capabilities_used_for_convenience_are_not_needed(item: pytest.Item) -> None:
    needs.note("clock")
    with needs.for_comfort():
        needs.note_ask("GET", "/members")

    assert needs.untrue(item) == ""
    assert needs.missing(item, have={"clock"}) == {needs.HANDLE}
