"""Tests of the site in a separate process. The tests configure the site through its lab."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from chatkey_oauth.client import LabError
from chatkey_stack.lab import Provider, SiteLab
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports
from chatkey_stack.process import Process

PROVIDER = Provider("prov_1", "a-secret-key-of-at-least-32-bytes-0123")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    command = (sys.executable, "-m", "chatkey_stack.site", "--port", str(port), "--browser-url", url)
    addresses = ("--service-url", "http://localhost:1", "--sdk-url", "http://localhost:1/assets/sdk.js")
    log: Path = tmp_path_factory.mktemp("site") / "site.log"
    with Process("site", (*command, *addresses), environ=os.environ, log=log) as process:
        yield url
        assert "Traceback" not in process.output()


@pytest.fixture
def lab(url: str) -> Iterator[SiteLab]:
    with closing(SiteLab(url, None)) as lab:
        yield lab


def test_a_shop_is_opened_counted_and_closed(lab: SiteLab, url: str) -> None:
    lab.open_shop("alder", PROVIDER, get_token=True)

    opened = httpx.get(f"{url}/alder/", timeout=PATIENCE).status_code
    httpx.post(f"{url}/alder/chat/token", json={}, timeout=PATIENCE)
    calls = lab.token_calls("alder")
    lab.close_shop("alder")

    assert (opened, calls) == (200, 1)
    assert httpx.get(f"{url}/alder/", timeout=PATIENCE).status_code == 404


def test_the_clock_moves_and_is_put_back(lab: SiteLab) -> None:
    before = lab.advance(0)

    moved = lab.advance(3600)
    lab.reset()

    assert moved >= before + 3600
    assert lab.advance(0) < moved


def test_a_refusal_of_the_lab_says_what_was_asked_and_answered(lab: SiteLab) -> None:
    with pytest.raises(LabError, match=r"POST /lab/shops was answered with 400: .*slug 'lab' cannot be used"):
        lab.open_shop("lab", PROVIDER, get_token=True)
