"""Computers, which have many names."""

from __future__ import annotations

import socket
from contextlib import suppress


def one_name(host: str) -> str:
    """The same for all names and addresses of this computer, and for all names of another address.

    Takes as long as the system's resolver. A name that it does not know stays as it is.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = min(str(entry[4][0]) for entry in socket.getaddrinfo(host, None, family))
    except (OSError, UnicodeError):
        return host.lower()
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as own:
        own.bind((found, 0))  # nobody can bind another computer's address
        return "this computer"
    return found
