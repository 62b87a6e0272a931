"""Follows the recipe "Add a fault" of CONTRIBUTING.md in a copy of the tree. Two files must be enough."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.recipes.copy import Recipe, copy_of_the_tree, follow, run, run_tests

pytestmark = pytest.mark.long

FAULT: Final = '''
class StrangeMember(TokenFault):
    """The response has a member that no standard knows."""

    name = "strange-member"
    on_menu = True
    member: Member = "quill"

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any]:
        """Add the member."""
        return body | {self.member: "strange"}


'''
RECIPE: Final[Recipe] = {
    "fake_oauth/chatkey_oauth/faults/token.py": {"class CodeUsed(": f"{FAULT.lstrip()}class CodeUsed("},
    "fake_oauth/chatkey_oauth/faults/catalogue.py": {
        "        token.MalformedIdToken,\n": "        token.MalformedIdToken,\n        token.StrangeMember,\n",
    },
}
OF_THE_FAULT: Final = """
from tests.oauth.faults.journey import travel


def test_it_adds_the_member(google, arm):
    rule = arm("strange-member", member="feather")

    journey = travel(google)

    assert journey.tokens["feather"] == "strange"
    assert rule.hits == 1
"""
TEST: Final = "tests/oauth/faults/test_strange_member.py"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree to which the recipe has added a fault, with a test of this fault."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("recipe"))
    follow(tree, RECIPE)
    (tree / TEST).write_text(OF_THE_FAULT)
    return tree


def test_it_acts_and_no_provider_stumbles_over_it(tree: Path) -> None:
    found = run_tests(tree, TEST, "tests/oauth/faults/test_rules.py", "-k", "strange or catalogue")

    assert {name for name in found if "strange-member" in name}
    assert found.pop(f"{TEST}::test_it_adds_the_member") == "PASSED"
    assert {name for name, ended in found.items() if ended != "PASSED"} == set()


def test_the_consent_page_offers_it(tree: Path) -> None:
    program = "from chatkey_oauth.faults.menu import menu; print(menu(with_id_token=True))"

    assert 'value="strange-member"' in run(tree, "-c", program).stdout


def test_the_page_about_the_fake_has_a_row_for_it(tree: Path) -> None:
    written = run(tree, "-m", "tools.generate_docs", "--write")

    assert written.returncode == 0, written.stderr
    assert "`strange-member`" in (tree / "docs/fake-oauth-reference.md").read_text()
