"""A widget to judge with our service. The harness serves the widget's script at the address of our own script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import httpx
from playwright.sync_api import BrowserContext, Error, Route

from chatkey_conform.capabilities import CAPABILITIES
from chatkey_conform.target import TargetError
from chatkey_conform.widget import WidgetFile, read_widget
from chatkey_e2e.aim.aim import OF_OUR_WIDGET
from chatkey_stack.patience import PATIENCE

SCRIPT: Final = "sdk.js"


@dataclass(frozen=True)
class WidgetAim:
    """The widget, and its known failures: the reason by name."""

    file: WidgetFile
    known: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def have(self) -> frozenset[str]:
        """The capabilities of our service. A widget need not have the events, texts and languages of ours."""
        return frozenset(CAPABILITIES) - OF_OUR_WIDGET

    @property
    def selectors(self) -> Mapping[str, str]:
        return self.file.widget.selectors

    def serve(self, context: BrowserContext, service_url: str) -> None:
        """Answer requests for `{assets_url}/sdk.js` with the script, and other assets with the files beside it."""
        assets, script = f"{service_url}/assets/", self.file.widget.script_url

        def answer(route: Route) -> None:
            name = route.request.url.removeprefix(assets)
            try:
                found = route.fetch(url=script if name.partition("?")[0] == SCRIPT else urljoin(script, name))
            except Error:
                route.abort()  # the browser reports the failed request
            else:
                route.fulfill(response=found)

        context.route(f"{assets}**", answer)


def take_widget(path: Path) -> WidgetAim:
    """Read a widget.toml, and check that its script can be loaded. Raises `TargetError`."""
    file = read_widget(path)
    url = file.widget.script_url
    try:
        httpx.get(url, timeout=PATIENCE, follow_redirects=True).raise_for_status()
    except httpx.HTTPError as error:
        raise TargetError(f"widget.script_url {url} cannot be loaded: {error}.") from None
    return WidgetAim(file, file.known_failures())
