"""What else ends a robot's motion: files, a clock that jumped, the end of the scene's process."""

from __future__ import annotations

import math
import os
import time

from sofa_softctl.bridge.config.robot import SafetyConfig


class Watch:
    """Looks at the files, which belong on a local disk, and clocks of a robot once a period.

    Args:
        safety: Of the robot.
        period: Of the loop [s].
        parent: Process id of the scene.
    """

    def __init__(self, safety: SafetyConfig, period: float, parent: int) -> None:
        self._safety, self._parent = safety, parent
        self._longest = period + safety.clock_jump
        self._touched = -math.inf
        self._seen = _changed(safety.dead_man_file)
        self._last, self._asleep = math.nan, _asleep()

    def stop_file(self) -> str:
        """Why to stop at once; empty: nothing."""
        path = self._safety.stop_file
        return f"emergency stop: the file '{path}' exists" if path and os.path.exists(path) else ""

    def dead_man(self, now: float) -> str:
        """Why to hold; empty: the file was touched in time, or there is none.

        A touch is a change of the file's time, at the moment when it is seen: wrong clocks do not
        count.
        """
        path, timeout = self._safety.dead_man_file, self._safety.command_timeout
        if not path:
            return ""
        found = _changed(path)
        if found is not None and found != self._seen:
            self._touched = now
        self._seen = found
        if found is not None and now - self._touched <= timeout:
            return ""
        return f"the dead-man file '{path}' was not touched for {timeout:g} s"

    def gap(self, now: float) -> float:
        """Time since the last call, the computer's sleep included, if too long; else 0 [s]."""
        asleep = _asleep()
        gap = now - self._last + asleep - self._asleep
        self._last, self._asleep = now, asleep
        return gap if gap > self._longest else 0.0  # 0 at the first call: NaN

    def orphaned(self) -> bool:
        """Whether the scene's process ended; another process may still hold its socket."""
        return os.getppid() != self._parent


def _changed(path: str) -> int | None:
    """When a file was changed last [ns]; None: there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _asleep() -> float:
    """For how long the computer was suspended since it started [s]."""
    if not hasattr(time, "CLOCK_BOOTTIME"):  # macOS: its monotonic clock counts sleep
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
