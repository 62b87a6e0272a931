"""Moves the clocks of a context's pages together with the servers' clocks, or reports why this is impossible."""

from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, Request, Response

from chatkey_stack.stack import Stack

LOOK_MS = 40
"""Milliseconds between two checks whether a page has loaded."""


class StillLoadingError(Exception):
    """A page is still loading. The message contains the address of the page."""


@dataclass  # without slots: Playwright stores its wrappers on the owner of a listener
class Clocks:
    """The clocks of the servers and of one context's pages.

    Create this object before a page loads, because the object replaces the clock of the pages.
    """

    stack: Stack
    context: BrowserContext
    patience: float
    _awaited: set[Request] = field(default_factory=set[Request], init=False)

    def __post_init__(self) -> None:
        self.context.clock.install()
        self.context.on("request", self._sent)
        self.context.on("response", self._answered)
        self.context.on("requestfailed", self._failed)

    def advance(self, seconds: float) -> None:
        """Move all clocks forward after every page has finished navigating, because the browser driver would block
        otherwise.

        Raises `StillLoadingError` if a page is still loading after `patience` seconds.
        """
        self._wait()
        self.stack.advance(seconds, lambda: self.context.clock.fast_forward(int(seconds * 1000)))

    def advance_pages(self, seconds: float) -> None:
        """Move only the pages' clock. Raises `StillLoadingError` as `advance` does."""
        self._wait()
        self.context.clock.fast_forward(int(seconds * 1000))

    def _wait(self) -> None:
        for _look in range(int(self.patience * 1000 / LOOK_MS)):
            if not (self._awaited and self.context.pages):
                return
            self.context.pages[0].wait_for_timeout(LOOK_MS)
        where = sorted({request.url.partition("?")[0] for request in self._awaited})
        raise StillLoadingError(
            f"Time cannot be moved: after {self.patience:g} s a window is still loading {', '.join(where)}. Move it "
            "before that window opens, wait for the window first, or shorten the fault that delays it."
        )

    def _sent(self, request: Request) -> None:
        if request.is_navigation_request():
            self._awaited.add(request)

    def _answered(self, response: Response) -> None:
        self._awaited.discard(response.request)

    def _failed(self, request: Request) -> None:
        self._awaited.discard(request)
