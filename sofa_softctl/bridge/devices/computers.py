"""Unique names of computers, which have many names."""

from __future__ import annotations

import socket
from contextlib import suppress


def unique_name(host: str) -> str:
    """Return a name that is the same for all names and addresses of a computer.

    Takes as long as the system's resolver. A name that it does not know stays as it is.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        address = min(str(info[4][0]) for info in socket.getaddrinfo(host, None, family))
    except (OSError, UnicodeError):
        return host.lower()
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as socket_:
        socket_.bind((address, 0))  # nobody can bind another computer's address
        return "this computer"
    return address
