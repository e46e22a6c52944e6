"""One end of the socket between the scene's process and the device process; nothing here waits."""

from __future__ import annotations

import select
import socket
from collections import deque
from contextlib import suppress
from time import monotonic

_LONGEST = 1 << 16
"""Of a part of a message [bytes]: the kernel refuses packets that are longer than its buffer."""
_MORE, _LAST = b"+", b"."
"""First byte of a part."""
WAITS = 3600.0
"""Longest wait [s]: `poll` takes no more than 2^31 ms."""


class Link:
    """Sends and receives whole messages, of any length but 0, in parts that the kernel takes.

    What it does not take yet is kept, in order.

    Args:
        end: One end of a pair of sockets of the kind SOCK_SEQPACKET.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        with suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._end = end
        self._kept: deque[bytes] = deque()
        self._begun = b""
        self.closed = False
        """Whether the other end is gone; what it sent before was received."""

    def __len__(self) -> int:
        """How many messages are kept, or parts of long ones."""
        return len(self._kept)

    def fileno(self) -> int:
        """For `select`."""
        return self._end.fileno()

    def send(self, message: bytes) -> None:
        """Send, or keep for later."""
        for start in range(0, len(message), _LONGEST):
            end = start + _LONGEST
            self._kept.append((_MORE if end < len(message) else _LAST) + message[start:end])
        self.flush()

    def flush(self) -> None:
        """Send what was kept, as far as the kernel takes it."""
        while self._kept:
            try:
                self._end.send(self._kept[0])
            except BlockingIOError:
                return
            except OSError:  # the other end is gone; `receive` finds that, after its last words
                self._kept.clear()
                return
            self._kept.popleft()

    def receive(self) -> list[bytes]:
        """Whatever has arrived."""
        found: list[bytes] = []
        while not self.closed:
            try:
                part = self._end.recv(1 + _LONGEST)
            except BlockingIOError:
                break
            except ConnectionError:  # said once; what the other end sent before comes after it
                continue
            self._begun += part[1:]
            if part[:1] == _LAST:
                found.append(self._begun)
                self._begun = b""
            elif not part:
                self.closed = True
        return found

    def wait(self, seconds: float) -> None:
        """Wait until something arrives, or what was kept can be sent; no longer, and `WAITS`."""
        poll = select.poll()  # `select` fails where a process has many files open
        poll.register(self._end, select.POLLIN | (select.POLLOUT if self._kept else 0))
        poll.poll(1e3 * min(max(seconds, 0.0), WAITS))
        self.flush()

    def flush_within(self, seconds: float) -> None:
        """Wait until all was sent, but no longer."""
        deadline = monotonic() + seconds
        self.flush()
        while self._kept and (left := deadline - monotonic()) > 0.0:
            self.wait(left)
            self.receive()  # it says when the other end is gone
            if self.closed:
                return

    def close(self) -> None:
        """Close this end."""
        self.closed = True
        self._end.close()
