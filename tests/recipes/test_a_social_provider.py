"""Follows the recipe "Add a social provider" of CONTRIBUTING.md in a copy of the tree. Three files must be enough."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.recipes.copy import Recipe, copy_of_the_tree, follow, run, run_tests

pytestmark = pytest.mark.long

SERVER_MODULE: Final = '''
"""Quill: plain OAuth 2, as simple as it gets."""

from typing import Final

from chatkey_server.social.person import Person, display_name, email, subject
from chatkey_server.social.provider import Login, SocialProvider


async def read_person(login: Login) -> Person:
    """Read the person from the only endpoint there is."""
    profile = await login.get("https://api.quill.example/me")
    return Person(subject(profile.get("sub")), display_name(profile.get("name")), email(profile.get("email")))


PROVIDER: Final = SocialProvider(
    name="quill",
    authorize_url="https://quill.example/authorize",
    tokens_url="https://api.quill.example/token",
    scope="profile",
    client_auth="client_secret_post",
    read_person=read_person,
)
'''

FAKE_MODULE: Final = '''
"""Quill: plain OAuth 2, as simple as it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.dialect import say
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, json_answer
from chatkey_oauth.engine.provider import Provider
from chatkey_oauth.engine.refusals import CLIENT_REASONS, BearerRefused, Reason, Words
from chatkey_oauth.engine.routing import Route

if TYPE_CHECKING:
    from chatkey_oauth.engine.people import Person


class Imitated(Provider):
    """quill.example and api.quill.example."""

    name = "quill"
    hosts = ("quill.example", "api.quill.example")
    accent = ("#5b2a86", "#7b4fa6")
    ready_made = {"client_id": "quill-ready-made", "client_secret": "quill-ready-made-for-tests-only"}
    scopes = {"profile": "Your name and e-mail address"}
    words = say(Words(400, "invalid_grant"), Reason) | say(Words(401, "invalid_client"), CLIENT_REASONS)

    def routes(self) -> dict[str, Route]:
        """The only endpoints there are."""
        return {
            "GET /authorize": Route(Leg.AUTHORIZE, self.authorize),
            "POST /token": Route(Leg.TOKEN, self.token),
            "GET /me": Route(Leg.PROFILE, self.me),
        }

    def me(self, call: Call) -> Answer:
        """Who approved."""
        grant = self.bearer(call).grant
        person = self.person(grant)
        return json_answer({"sub": self.subject(person, grant.client_id), "name": person.name, "email": person.email})

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """Answer every bad token alike."""
        return json_answer({"error": "invalid_token"}, 401)

    def new_code(self) -> str:
        """Twenty letters and digits, like all that Quill makes."""
        return self.alphanumeric(20)

    new_access_token = new_code
    new_refresh_token = new_code

    def derived_subject(self, person: Person, client_id: str) -> str:
        """Ten digits."""
        return self.number(person, 10)
'''

LAST: Final = '    "amazon": Social("Amazon", available=False),\n'
RECIPE: Final[Recipe] = {
    "widget_sim/chatkey_protocol/names.py": {LAST: f'{LAST}    "quill": Social("Quill", available=False),\n'},
    "server/chatkey_server/social/providers/quill.py": {"": SERVER_MODULE.lstrip()},
    "fake_oauth/chatkey_oauth/providers/quill.py": {"": FAKE_MODULE.lstrip()},
}
SEEING: Final = (
    "tests/server/oauth/fake/test_logins.py",
    "tests/server/social/test_consent.py",
    "tests/stack/test_applications.py",
    "tests/oauth/test_login.py",
    "tests/oauth/test_people.py",
    "tests/oauth/test_refused_tokens.py",
)
"""A selection of files whose tests run for every social provider. Running all such files would take too long."""

NAMING: Final = (
    "tests/protocol/test_logos.py",
    "tests/protocol/test_names.py",
    "tests/oauth/faults/test_callback.py",
    "tests/oauth/faults/test_profile.py",
    "tests/server/test_settings.py",
)
"""Files with tests that name social providers. The new one must not break them."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree to which the recipe has added a social provider."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("recipe"))
    follow(tree, RECIPE)
    return tree


@pytest.fixture(scope="module")
def tests_of_quill(tree: Path) -> dict[str, str]:
    """The results of the copy's tests that cover the new provider, by file and test name."""
    return run_tests(tree, "-k", "quill", *SEEING)


def test_the_server_offers_the_provider_as_a_preview(tree: Path) -> None:
    program = (
        "from chatkey_server.settings import load; from chatkey_server.social.providers import find\n"
        "found = find('quill', load({'CHATKEY_PREVIEW_PROVIDERS': 'quill'}))\n"
        "print(found.title, found.authorize_url)"
    )

    assert run(tree, "-c", program).stdout == "Quill https://quill.example/authorize\n"


def test_the_fake_has_an_application_and_a_rate_limit_error_for_the_provider(tree: Path) -> None:
    program = (
        "from chatkey_oauth.app import create_app; from chatkey_oauth.ready_made import READY_MADE\n"
        "(client,) = (client for client in READY_MADE if client.provider == 'quill')\n"
        "print(client.client_id, create_app().provider('quill').rate_limited(30).status)"
    )

    assert run(tree, "-c", program).stdout == "quill-ready-made 429\n"


def test_the_widget_shows_the_name_of_the_provider(tree: Path) -> None:
    program = "from chatkey_widget.texts import social_name; print(social_name('quill'))"

    assert run(tree, "-c", program).stdout == "Quill\n"


def test_a_login_with_the_provider_works_through_the_fake(tests_of_quill: dict[str, str]) -> None:
    logins = {name: ended for name, ended in tests_of_quill.items() if "fake/test_logins.py" in name}

    assert logins
    assert set(logins.values()) == {"PASSED"}


def test_tests_for_all_providers_include_it_and_pass(tests_of_quill: dict[str, str]) -> None:
    assert {name.partition("::")[0] for name in tests_of_quill} == set(SEEING)
    assert {name for name, ended in tests_of_quill.items() if ended != "PASSED"} == set()


def test_tests_that_name_providers_hold_with_one_more(tree: Path) -> None:
    found = run_tests(tree, *NAMING)

    assert {name for name, ended in found.items() if ended != "PASSED"} == set()
