"""One end of the socket between the scene's process and the device process; only `wait` waits."""

from __future__ import annotations

import select
import socket
from collections import deque
from contextlib import suppress
from time import monotonic

_PART_SIZE_MAX = 1 << 16
"""Size of a message part [bytes]: the kernel refuses packets longer than its buffer."""
_MORE, _LAST = b"+", b"."
"""First byte of a part."""
WAIT_MAX = 3600.0
"""Longest wait [s]: `poll` takes no more than 2^31 ms."""


class MessageSocket:
    """Sends and receives whole messages, of any length but 0, in parts that the kernel takes.

    Parts that the kernel does not take yet wait, in order.

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
        """True after the other end has closed the link and its last messages were received."""

    def __len__(self) -> int:
        """Return the number of message parts that wait."""
        return len(self._kept)

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""
        return self._end.fileno()

    def send(self, message: bytes) -> None:
        """Send a message, now or when the kernel takes it."""
        for start in range(0, len(message), _PART_SIZE_MAX):
            end = start + _PART_SIZE_MAX
            self._kept.append((_MORE if end < len(message) else _LAST) + message[start:end])
        self.flush()

    def flush(self) -> None:
        """Send waiting parts, as far as the kernel takes them."""
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
        """Return the messages that have arrived."""
        messages: list[bytes] = []
        while not self.closed:
            try:
                part = self._end.recv(1 + _PART_SIZE_MAX)
            except BlockingIOError:
                break
            except ConnectionError:  # said once; what the other end sent before comes after it
                continue
            self._begun += part[1:]
            if part[:1] == _LAST:
                messages.append(self._begun)
                self._begun = b""
            elif not part:
                self.closed = True
        return messages

    def wait(self, seconds: float) -> None:
        """Wait until something arrives or can be sent, at most `seconds` and `WAIT_MAX`."""
        poll = select.poll()  # `select` fails where a process has many files open
        poll.register(self._end, select.POLLIN | (select.POLLOUT if self._kept else 0))
        poll.poll(1e3 * min(max(seconds, 0.0), WAIT_MAX))
        self.flush()

    def flush_within(self, seconds: float) -> None:
        """Wait until all was sent, at most `seconds`."""
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
