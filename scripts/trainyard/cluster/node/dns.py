"""Ask one DNS server for one address: ``python dns.py SERVER NAME`` prints the IPv4 addresses.

It stands alone, on the standard library, so that it can run in another network namespace.
"""

import os
import socket
import struct
import sys

TYPE_A = 1
CLASS_IN = 1
TIMEOUT_S = 1.0


def query(name: str, number: int) -> bytes:
    """Give the message that asks for the IPv4 addresses of ``name`` (RFC 1035, section 4)."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.rstrip(".").split("."))
    header = struct.pack(">6H", number, 0x0100, 1, 0, 0, 0)
    return header + labels + b"\0" + struct.pack(">2H", TYPE_A, CLASS_IN)


def addresses(answer: bytes, number: int) -> list[str]:
    """Read the IPv4 addresses from an answer to the question ``number``."""
    found, _, questions, answers, _, _ = struct.unpack(">6H", answer[:12])
    if found != number:
        return []
    position = 12
    for _ in range(questions):
        position = _past_name(answer, position) + 4
    result = []
    for _ in range(answers):
        position = _past_name(answer, position)
        kind, _, _, length = struct.unpack(">2HIH", answer[position : position + 10])
        position += 10
        if kind == TYPE_A:
            result.append(socket.inet_ntoa(answer[position : position + length]))
        position += length
    return result


def _past_name(message: bytes, position: int) -> int:
    """Give the position behind a name, which ends in a zero or in a pointer of two bytes."""
    while length := message[position]:
        if length >= 0xC0:
            return position + 2
        position += 1 + length
    return position + 1


def main() -> None:
    """Print what the server answers; nothing where it does not."""
    server, name = sys.argv[1:]
    number = int.from_bytes(os.urandom(2), "big")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(TIMEOUT_S)
        try:
            sock.sendto(query(name, number), (server, 53))
            print(*addresses(sock.recv(4096), number))
        except OSError as error:
            print(f"no answer from {server}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
