"""Tests of the stack's three servers: a common start, known addresses, a common clock, and a complete stop."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chatkey_stack.lab import SocialKeys
from chatkey_stack.patience import PATIENCE
from chatkey_stack.process import ProcessError
from chatkey_stack.stack import Flavour, Stack, running

pytestmark = pytest.mark.long

FLAVOURS = {Flavour.PLAIN: "http://localhost:", Flavour.TLS: "https://chat.localhost:"}


@pytest.fixture(scope="module", params=FLAVOURS)
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(request.param, folder=tmp_path_factory.mktemp("stack")) as stack:
        yield stack
    assert not [server for server in stack.servers if server.process.running]


@pytest.mark.contract("D-16/two-addresses")
def test_every_server_answers_at_an_address_for_browsers_and_one_for_processes(stack: Stack) -> None:
    assert stack.service.browser_url.startswith(FLAVOURS[stack.flavour])
    assert stack.get("/assets/sdk.js").status_code == 200
    assert len({server.browser_url for server in stack.servers}) == 3
    assert all("//127.0.0.1:" in server.local_url for server in stack.servers)


def test_a_provider_and_its_shop_can_be_opened_and_closed(stack: Stack) -> None:
    provider = stack.service_lab.add_provider(domains=[stack.site.browser_url.partition("://")[2]])
    stack.site_lab.open_shop("alder", provider, get_token=True)

    configuration = stack.get(f"/v1/public/provider/{provider.id}").json()["data"]
    stack.site_lab.close_shop("alder")
    stack.service_lab.remove_provider(provider.id)

    assert configuration["socket_uri"] == stack.service.browser_url.replace("http", "ws", 1) + "/v1/socket"
    assert provider.secret_key not in str(configuration)


@pytest.mark.contract("1/mode-service-keys")
def test_the_services_own_keys_lead_to_the_fake_providers_consent_page(stack: Stack) -> None:
    domain = stack.site.browser_url.partition("://")[2]
    provider = stack.service_lab.add_provider(domains=[domain], socials={"google": SocialKeys("service")})

    start = stack.get(f"/v1/public/provider/{provider.id}/oauth/google?origin={stack.site.browser_url}")

    location = httpx.URL(start.headers["location"])
    assert str(location).startswith(f"{stack.provider.browser_url}/google/")
    assert location.params["client_id"] == "service-google"
    assert location.params["redirect_uri"] == stack.callback("google")


@pytest.mark.contract("D-13/clock")
def test_all_clocks_move_together_and_are_put_back(stack: Stack) -> None:
    before = stack.service_lab.now()

    stack.advance(86_400)
    moved = [lab.advance(0) for lab in (stack.service_lab, stack.provider_lab, stack.site_lab)]
    stack.reset()

    assert max(moved) - min(moved) < 1
    assert moved[0] >= before + 86_400
    assert stack.service_lab.now() < before + 60


def test_the_services_keys_are_still_there_after_a_reset(stack: Stack) -> None:
    stack.reset()

    clients = stack.provider_lab.clients()
    assert {client.client_id for client in clients} >= {"service-google", "service-discord"}


def test_a_setting_the_service_refuses_is_shown_with_its_own_words(tmp_path: Path) -> None:
    with (
        pytest.raises(ProcessError, match=r"service ended before it was ready[\s\S]*CHATKEY_LIMIT_TOKEN_RATE"),
        running(Flavour.PLAIN, folder=tmp_path, settings={"CHATKEY_LIMIT_TOKEN_RATE": "many"}),
    ):
        pass


@pytest.mark.contract("D-14/lab-token")
def test_labs_with_a_token_refuse_requests_without_it(tmp_path: Path) -> None:
    with running(Flavour.PLAIN, folder=tmp_path, lab_token="a-token-of-the-labs-0123") as stack:
        without = [
            httpx.get(f"{server.local_url}/lab/clock", trust_env=False, timeout=PATIENCE) for server in stack.servers
        ]

        moved = [lab.advance(0) for lab in (stack.service_lab, stack.provider_lab, stack.site_lab)]

    assert [answer.status_code for answer in without] == [401, 401, 401]
    assert len(moved) == 3
