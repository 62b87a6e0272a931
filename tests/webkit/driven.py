"""Drives WebKitGTK over WebDriver on a virtual screen, and the widget in the browser's page."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from selenium.webdriver import WebKitGTK, WebKitGTKOptions
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import element_to_be_clickable
from selenium.webdriver.support.wait import WebDriverWait
from selenium.webdriver.webkitgtk.service import Service

from chatkey_stack.patience import PATIENCE

DRIVER: Final = "WebKitWebDriver"
SCREEN: Final = "Xvfb"
MISSING: Final = "WebKitGTK is not on this machine: `apt-get install webkit2gtk-driver xvfb` brings it"

POLL_SECONDS: Final = 0.1
BY_NAME: Final = """
const root = document.querySelector("chatkey-widget")?.shadowRoot ?? document;
const name = (button) => button.getAttribute("aria-label") ?? button.textContent.trim();
return [...root.querySelectorAll("button")].find((it) => it.checkVisibility() && name(it) === arguments[0]) ?? null;
"""
IN_WIDGET: Final = 'return document.querySelector("chatkey-widget")?.shadowRoot.querySelector(arguments[0]) ?? null;'
BODIES: Final = """
const lines = document.querySelector("chatkey-widget").shadowRoot.querySelectorAll("[role=log] li p");
return lines.length === arguments[0] && [...lines].map((line) => line.textContent);
"""


def is_there() -> bool:
    """Return whether WebKitGTK's driver and the virtual screen are installed."""
    return all(map(shutil.which, (DRIVER, SCREEN)))


@contextmanager
def screen() -> Iterator[str]:
    reading, writing = os.pipe()
    command = (SCREEN, "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp")
    with subprocess.Popen(command, pass_fds=(writing,), stderr=subprocess.DEVNULL) as process:
        os.close(writing)
        try:
            with os.fdopen(reading) as told:
                yield f":{told.readline().strip()}"
        finally:
            process.terminate()


@contextmanager
def browser(display: str, log: Path) -> Iterator[WebKitGTK]:
    service = Service(log_output=str(log), env={**os.environ, "DISPLAY": display})
    driver = WebKitGTK(options=WebKitGTKOptions(), service=service)
    try:
        driver.set_script_timeout(PATIENCE)
        yield driver
    finally:
        driver.quit()


@dataclass(frozen=True, slots=True)
class Tab:
    driver: WebKitGTK

    def run(self, script: str, *arguments: object) -> Any:
        """Run a script in the page, and return the script's result."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, *arguments: object) -> Any:
        """Run a script repeatedly until it returns a truthy value, and return that value."""
        wait = WebDriverWait(self.driver, PATIENCE, POLL_SECONDS)
        return wait.until(lambda _: self.run(script, *arguments), f"in vain: {script} {arguments}")

    def open(self, url: str) -> None:
        """Open a page, and wait until the page's widget is connected."""
        self.driver.get(url)
        self.until("return window.Service?.identity")

    def reload(self) -> None:
        """Reload the page, and wait until the page's widget is connected."""
        self.driver.refresh()
        self.until("return window.Service?.identity")

    def debug(self) -> dict[str, Any]:
        bundle: dict[str, Any] = self.run("return JSON.parse(JSON.stringify(Service.debug()))")
        return bundle

    @property
    def uid(self) -> str:
        return str(self.run("return Service.identity.uid"))

    def wait_for(self, identity: str) -> None:
        """Wait until the widget is connected as a visitor, or as a member."""
        self.until("return window.Service?.identity?.identity === arguments[0]", identity)

    def wait_for_error(self, code: str) -> None:
        """Wait until the widget has emitted an error with this code."""
        self.until("return Service.debug().troubles.some(({ detail }) => detail.code === arguments[0])", code)

    def press(self, name: str) -> None:
        """Press a button of the widget, by name. If the page has no widget, press a button of the page."""
        button: WebElement = self.until(BY_NAME, name)
        button.click()

    def press_in_page(self, name: str) -> None:
        button = (By.XPATH, f"//button[contains(normalize-space(), '{name}')]")
        WebDriverWait(self.driver, PATIENCE, POLL_SECONDS).until(element_to_be_clickable(button), name).click()

    def send(self, text: str) -> None:
        """Open the panel, send a message, and wait until the server has stored the message."""
        if not self.debug()["panel"]["open"]:
            self.press("Open chat")
        box: WebElement = self.until(IN_WIDGET, "textarea")
        acknowledged = self.counted("message:acknowledged")
        box.send_keys(text)
        self.press("Send")
        self.until("return (Service.debug().counters['message:acknowledged'] ?? 0) > arguments[0]", acknowledged)

    def counted(self, name: str) -> int:
        """Return how often the widget has emitted an event on this page."""
        return int(self.debug()["counters"].get(name, 0))

    def lines(self, count: int) -> list[str]:
        """Wait for `count` messages in the conversation, and return their texts."""
        bodies: list[str] = self.until(BODIES, count)
        return bodies

    def sign_in_with(self, provider: str) -> str:
        """Press a social provider's button, switch to the new window, and return the handle of the first window."""
        here = self.driver.current_window_handle
        known = set(self.driver.window_handles)
        self.press("Open chat")
        self.press("Sign in")
        self.press(f"Continue with {provider}")
        wait = WebDriverWait(self.driver, PATIENCE, POLL_SECONDS)
        opened = wait.until(lambda driver: set(driver.window_handles) - known, "no window was opened")
        self.driver.switch_to.window(opened.pop())
        return here
