"""Answers requests over HTTP/2, for the endpoints of the self-test that speak nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded
from tests.check.mutants.mutant_server import Answer, Request, made_request

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\n"
SETTINGS: Final = b"\0\0\0\4\0\0\0\0\0"
"""The first frame of a server. A server that speaks only HTTP/2 sends this frame to clients that speak HTTP/1.1."""


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Callable[[Request], Awaitable[Answer]]
) -> None:
    """Answer the requests of a connection whose preface has been read up to the first empty line."""
    connection = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    data = PREFACE
    begun: dict[int, tuple[dict[str, str], bytes]] = {}
    while data:
        for event in connection.receive_data(data):
            done = _ended(connection, begun, event)
            if done is not None:
                stream, request = done
                made = await answer(request)
                headers = [(":status", str(made.status)), *((name.lower(), value) for name, value in made.headers)]
                connection.send_headers(stream, headers)
                connection.send_data(stream, b"" if request.method == "HEAD" else made.body, end_stream=True)
        writer.write(connection.data_to_send())
        await writer.drain()
        data = await reader.read(65_536)


def _ended(
    connection: H2Connection, begun: dict[int, tuple[dict[str, str], bytes]], event: Event
) -> tuple[int, Request] | None:
    """Add an event to its request. Return the stream and the request once the request has ended."""
    match event:
        case RequestReceived(stream_id=int(stream), headers=list(received)):
            begun[stream] = {str(name): str(value) for name, value in received}, b""
        case DataReceived(stream_id=int(stream), data=bytes(data), flow_controlled_length=int(length)):
            begun[stream] = begun[stream][0], begun[stream][1] + data
            connection.acknowledge_received_data(length, stream)
        case StreamEnded(stream_id=int(stream)):
            headers, body = begun.pop(stream)
            made = made_request(headers.pop(":method"), headers.pop(":path"), headers, body, http2=True)
            made.headers["host"] = headers.pop(":authority")
            return stream, made
        case _:
            pass
    return None
