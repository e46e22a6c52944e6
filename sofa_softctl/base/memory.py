"""Memory of this computer."""

from __future__ import annotations

import os
from pathlib import Path

_LINUX = Path("/proc/meminfo")


def available_memory() -> int:
    """Return the memory that a process can still get without swapping [bytes].

    Where the system does not say, all of its memory.
    """
    if _LINUX.exists():
        fields = dict(line.split(":", 1) for line in _LINUX.read_text().splitlines())
        return 1024 * int(fields["MemAvailable"].split()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
