"""The hub's server, which runs in a thread of the demo's process."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from chatkey_stack.ports import LOOPBACK

if TYPE_CHECKING:
    import uvicorn
    from litestar import Litestar

    from chatkey_stack.tls import Certificates

ENDS_WITHIN = 5.0


class HubServer:
    """Serves the hub during the `with` block.

    The block starts at once. A thread imports the server and calls `make_app` while other servers start. The thread
    calls `listening` as soon as the page can be opened.
    """

    def __init__(
        self,
        make_app: Callable[[], "Litestar"],
        port: int,
        *,
        certificates: "Certificates | None",
        listening: Callable[[], None],
    ) -> None:
        self._make_app = make_app
        self._port = port
        self._certificates = certificates
        self._listening = listening
        self._made = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._made.wait(ENDS_WITHIN)
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(ENDS_WITHIN)

    @property
    def running(self) -> bool:
        """Whether the server is serving or still starting."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._server = _server(self._make_app(), self._port, self._certificates, self._listening)
        finally:
            self._made.set()
        self._server.run()


def _server(
    app: "Litestar", port: int, certificates: "Certificates | None", listening: Callable[[], None]
) -> "uvicorn.Server":
    import uvicorn  # noqa: PLC0415  (in the hub's thread)

    from chatkey_serving.server import Server  # noqa: PLC0415

    # In a thread: opening a browser may take a while, and meanwhile the browser already requests the page.
    browser = threading.Thread(target=listening, name="browser", daemon=True)
    return Server(
        uvicorn.Config(
            app,
            host=LOOPBACK,
            port=port,
            ssl_certfile=certificates.chain if certificates else None,
            ssl_keyfile=certificates.key if certificates else None,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        ),
        browser.start,
    )
