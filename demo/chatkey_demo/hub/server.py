"""The hub's server, which runs in a thread of the demo's process."""

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from chatkey_stack.ports import LOOPBACK

if TYPE_CHECKING:
    from litestar import Litestar

    from chatkey_serving.server import Server
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
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._run, name="hub", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._made.wait(ENDS_WITHIN)
        if self._server is not None:
            self._server.stop()
        self._thread.join(ENDS_WITHIN)

    @property
    def running(self) -> bool:
        """Whether the server is serving or still starting."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._server = _server(self._make_app(), self._certificates, self._listening)
        finally:
            self._made.set()
        self._server.run([socket.create_server((LOOPBACK, self._port))])


def _server(app: "Litestar", certificates: "Certificates | None", listening: Callable[[], None]) -> "Server":
    from chatkey_serving.few_lines import write_few_lines  # noqa: PLC0415  (in the hub's thread)
    from chatkey_serving.server import Server, server_context  # noqa: PLC0415
    from chatkey_serving.site import Site  # noqa: PLC0415

    write_few_lines()
    tls = server_context(str(certificates.chain), str(certificates.key)) if certificates else None
    # In a thread: opening a browser may take a while, and meanwhile the browser already requests the page.
    browser = threading.Thread(target=listening, name="browser", daemon=True)
    return Server(Site(app=app), browser.start, tls=tls, grace=1)
