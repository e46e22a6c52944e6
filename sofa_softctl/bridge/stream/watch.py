"""Further conditions that end a motion: files, a clock that jumped, the end of the scene."""

from __future__ import annotations

import math
import os
import time

from sofa_softctl.bridge.config.robot import SafetyConfig


class StopConditions:
    """Checks files, which must be on a local disk, and clocks once a period.

    Args:
        safety: Safety settings of the robot.
        period: Period of the loop [s].
        parent: Process id of the scene.
    """

    def __init__(self, safety: SafetyConfig, period: float, parent: int) -> None:
        self._safety, self._parent = safety, parent
        self._longest = period + safety.clock_jump
        self._touched = -math.inf
        self._seen = _modification_time(safety.dead_man_file)
        self._last, self._sleep_time = math.nan, _sleep_time()

    def stop_file(self) -> str:
        """Return the reason for an emergency stop, or ""."""
        path = self._safety.stop_file
        return f"emergency stop: the file '{path}' exists" if path and os.path.exists(path) else ""

    def dead_man(self, now: float) -> str:
        """Return the reason for holding the robot, or "" if the file was touched or there is none.

        A touch is a change of the file's time, at the moment when it is seen: wrong clocks do not
        count.
        """
        path, timeout = self._safety.dead_man_file, self._safety.command_timeout
        if not path:
            return ""
        modified = _modification_time(path)
        if modified is not None and modified != self._seen:
            self._touched = now
        self._seen = modified
        if modified is not None and now - self._touched <= timeout:
            return ""
        return f"the dead-man file '{path}' was not touched for {timeout:g} s"

    def gap(self, now: float) -> float:
        """Return the time since the last call, sleep included, if too long; else 0 [s]."""
        asleep = _sleep_time()
        gap = now - self._last + asleep - self._sleep_time
        self._last, self._sleep_time = now, asleep
        return gap if gap > self._longest else 0.0  # 0 at the first call: NaN

    def has_scene_process_ended(self) -> bool:
        """Return True if the scene's process ended; another one may still hold its socket."""
        return os.getppid() != self._parent


def _modification_time(path: str) -> int | None:
    """Return the time of a file's last change [ns], or None if there is no file."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _sleep_time() -> float:
    """Return the time for which the computer was suspended since it started [s]."""
    if not hasattr(time, "CLOCK_BOOTTIME"):  # macOS: its monotonic clock counts sleep
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
