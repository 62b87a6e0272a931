"""Drives WebKitGTK over WebDriver on a virtual screen, and the widget in the browser's page."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import WebKitGTKOptions
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import element_to_be_clickable
from selenium.webdriver.support.wait import WebDriverWait
from urllib3.exceptions import HTTPError

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports

DRIVER: Final = "WebKitWebDriver"
SCREEN: Final = "Xvfb"
MISSING: Final = "WebKitGTK is not on this machine: `apt-get install webkit2gtk-driver xvfb` brings it"

TIED: Final = ("setpriv", "--pdeathsig", "KILL", "--")
"""Runs a program that the kernel kills when its parent dies. WebKitGTK runs on Linux only, and so does this."""

POLL_SECONDS: Final = 0.1
ENDS_SECONDS: Final = 5.0
SHOWN: Final = 2000
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


class StartError(Exception):
    """A program for these tests could not be started. The message says which program, and what it has written."""


@contextmanager
def running(*command: str, output: int = subprocess.DEVNULL, **options: Any) -> Iterator[None]:
    """Run a program in a process group of its own. At the end, end the group, so that no child of it is left behind.

    The program also ends if this process is killed.
    """
    with subprocess.Popen(
        (*TIED, *command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options
    ) as process:
        try:
            yield
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Ask a process group to end, and kill what is left of it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def screen() -> Iterator[str]:
    """Start a virtual screen and yield its name. Raises `StartError` if it does not start in time."""
    reading, writing = os.pipe()
    command = (SCREEN, "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp")
    with os.fdopen(reading) as told, running(*command, pass_fds=(writing,)):
        os.close(writing)
        number = told.readline().strip() if select.select([told], [], [], PATIENCE)[0] else ""
        if not number:
            raise StartError(f"{SCREEN} did not open a display within {PATIENCE:g} s.")
        yield f":{number}"


@contextmanager
def browser(
    display: str, log: Path, *, driver: str = DRIVER, within: float = PATIENCE, trusting: bool = False
) -> Iterator[WebDriver]:
    """Start a browser, which ends with the context. If it is `trusting`, it accepts every certificate.

    A start may take `within` seconds, and is tried again once, because WebKitGTK's driver sometimes never answers.
    Raises `StartError` if the second start fails, too.
    """
    with ExitStack() as ending:
        options = WebKitGTKOptions()
        options.accept_insecure_certs = trusting
        try:
            session = ending.enter_context(_session(display, log, driver, within, options))
        except StartError:
            session = ending.enter_context(_session(display, log, driver, within, options))
        yield session


@contextmanager
def _session(display: str, log: Path, driver: str, within: float, options: WebKitGTKOptions) -> Iterator[WebDriver]:
    deadline = time.monotonic() + within
    (port,) = free_ports(1)
    environ = {**os.environ, "DISPLAY": display}
    with log.open("ab") as output, running(driver, f"--port={port}", output=output.fileno(), env=environ):
        try:
            _wait_for(port, deadline)
            config = ClientConfig(f"http://{LOOPBACK}:{port}", timeout=max(1, round(deadline - time.monotonic())))
            session = WebDriver(RemoteConnection(client_config=config), options=options)
        except (OSError, HTTPError, WebDriverException) as error:
            written = log.read_text(errors="replace")[-SHOWN:].strip() or "(nothing)"
            raise StartError(f"{driver} did not start a browser within {within:g} s: {error}\n{written}") from error
        config.timeout = round(2 * PATIENCE)
        try:
            session.set_script_timeout(PATIENCE)
            yield session
        finally:
            with suppress(HTTPError, WebDriverException):  # the process group is ended in any case
                session.quit()


def _wait_for(port: int, deadline: float) -> None:
    while True:
        try:
            socket.create_connection((LOOPBACK, port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return


@dataclass(frozen=True, slots=True)
class Tab:
    driver: WebDriver

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
