"""What a run prints."""

from __future__ import annotations

from io import TextIOBase

from sofa_softctl.batch.row import LONGEST


class Tail(TextIOBase):
    """Keeps the end of what is written to it: scenes may print megabytes."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def writable(self) -> bool:
        """See `TextIOBase`."""
        return True

    def write(self, text: str) -> int:
        """See `TextIOBase`."""
        self.text = (self.text + text[-LONGEST:])[-LONGEST:]
        return len(text)
