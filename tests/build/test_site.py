"""Tests of the documentation site, built as for the wheel and served as by `chatkey docs`."""

from __future__ import annotations

import re
import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from chatkey.docs import Pages, address_of, unpack
from chatkey_build import build_site
from chatkey_build.site import pack
from chatkey_check import checks
from chatkey_e2e import axe
from chatkey_protocol.codes import Code
from chatkey_server.settings import SETTINGS
from chatkey_stack.browsers import find, launch, machine
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

ROOT: Final = Path(__file__).parents[2]
WIDTHS: Final = (390, 820, 1440)
FOLDERS: Final = {"styles/", "vendor/fontawesome/"}
"""Folders of the site whose files NOTICE.md names together."""
SHOWN: Final = ("index", "tour", "settings", "architecture")
"""Pages of every kind: links, pictures, tables, code and diagrams. axe takes minutes for a long page."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. A warning of Sphinx, such as a link without a target, is an error."""
    return build_site(ROOT, tmp_path_factory.mktemp("built") / "site")


@pytest.fixture(scope="module")
def served(site: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The site as `chatkey docs` reads it from the wheel."""
    packed = tmp_path_factory.mktemp("packed") / "site.tar.xz"
    packed.write_bytes(pack(site))
    return unpack(packed)


@pytest.fixture(scope="module")
def address(served: dict[str, bytes]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, served)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launch(playwright, find(machine(playwright)))
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    yield context.new_page()
    context.close()


def test_the_site_has_every_page_and_asks_no_other_host_for_files(site: Path) -> None:
    pages = {path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}

    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}
    for made in site.rglob("*.html"):
        text = made.read_text("utf-8")
        assert 'src="http' not in text, made
        assert '<link rel="stylesheet" href="http' not in text, made


def test_the_notice_names_every_file_of_the_site_that_others_have_written(site: Path) -> None:
    named = set(re.findall(r"`(?:_static/)?([\w./-]+)`", (ROOT / "NOTICE.md").read_text("utf-8")))
    ours = {path.name for path in (ROOT / "tools" / "site" / "static").iterdir()}
    files = {path.relative_to(site / "_static").as_posix() for path in (site / "_static").rglob("*") if path.is_file()}

    found = {file.removesuffix(".LICENSE.txt") for file in files} - ours
    assert {file for file in found - named if not any(file.startswith(folder) for folder in FOLDERS & named)} == set()


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_fits_three_widths_and_has_no_serious_fault_of_accessibility(
    page: Page, address: str, name: str
) -> None:
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{address}/docs/{name}.html")
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            found.append(f"{name} is {wide} pixels wide in a window of {width}")
        found += axe.found_in_both_schemes(page)

    assert found == []


def test_a_search_finds_the_entry_of_a_code(page: Page, address: str) -> None:
    page.goto(f"{address}/search.html?q=token_expired")

    expect(page.locator("#search-results").get_by_role("link", name="Codes").first).to_be_visible()


@pytest.mark.parametrize("name", ["architecture", "why-proof"])
def test_diagrams_are_drawn(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/docs/{name}.html")

    page.locator("html[data-drawn]").wait_for()
    expect(page.locator("pre.mermaid svg").first).to_be_visible()


def test_a_block_of_code_has_a_button_that_copies_it(page: Page, address: str) -> None:
    page.goto(f"{address}/docs/qa.html")

    expect(page.get_by_role("button", name="Copy").first).to_be_attached()


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ("CHATKEY_PORT", "settings.html#chatkey-port"),
        ("token_expired", "codes.html#token-expired"),
        ("claim.cnf", "checks.html#claim-cnf"),
        ("F051", "faults.html#f051"),
        ("ChatkeyDown", "alerts.html#chatkeydown"),
        ("D-10", "decisions.html#d-10"),
        ("D-10.2", "decisions.html#d-10-2"),
    ],
)
def test_the_command_finds_the_entry_of_a_name(served: dict[str, bytes], entry: str, place: str) -> None:
    assert address_of(served, entry) == place


def test_every_setting_code_and_check_has_an_entry(served: dict[str, bytes]) -> None:
    names = [*(setting.name for setting in SETTINGS), *Code, *checks.ORDER]

    assert {address_of(served, name).partition(".")[0] for name in names} == {"settings", "codes", "checks"}


def test_an_unknown_entry_is_refused(served: dict[str, bytes]) -> None:
    with pytest.raises(click.ClickException, match="no entry 'nonsense'"):
        address_of(served, "nonsense")


def test_a_python_without_lzma_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)

    with pytest.raises(click.ClickException, match=r"lzma module is not available\. Use another Python"):
        unpack(tmp_path / "site.tar.xz")
