"""Carry connections from the machine's loopback to the API server inside the node.

``python -m trainyard.cluster.node.forward FD HOST:PORT`` takes connections from the listening
socket FD. That socket was made in the host's network namespace and belongs to it, while this
process lives in the node's: so one process joins both, no link or route lies between them, and
only this machine can reach the API.
"""

import asyncio
import contextlib
import socket
import sys

CHUNK = 64 * 1024


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction until its end, and pass the end on."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()


async def serve(listener: socket.socket, host: str, port: int) -> None:
    """Join each connection of ``listener`` with one to ``host``:``port``."""

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(carry(reader, inner_writer), carry(inner_reader, writer))
        finally:
            inner_writer.close()
            writer.close()

    server = await asyncio.start_server(join, sock=listener)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until the node ends."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    host, _, port = sys.argv[2].rpartition(":")
    asyncio.run(serve(listener, host, int(port)))


if __name__ == "__main__":
    main()
