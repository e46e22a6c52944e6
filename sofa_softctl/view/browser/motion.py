"""Motions that a page shows: a session that is stepped, or a recording."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record
from sofa_softctl.scene.session.session import Session, Snapshot
from sofa_softctl.status import Status
from sofa_softctl.units import symbol
from sofa_softctl.view.movie.animation import Animation
from sofa_softctl.view.movie.capture import Camera
from sofa_softctl.view.movie.window import animation_of

HISTORY_BYTES = 200_000_000
"""Memory for frames that can be looked at again; then every second of the older ones is dropped."""

ROUNDING = 1e-9
"""Error up to which it is shown as 0 [length]."""


class Motion(ABC):
    """Frames in the order of time, of which one is shown."""

    shown: int | None = None
    """Index of the shown frame; None: the last one."""
    at_end = False
    """True if there is nothing more to play."""

    @property
    @abstractmethod
    def times(self) -> np.ndarray:
        """Time of each frame [time], shape (n,)."""

    @abstractmethod
    def advance(self) -> None:
        """Show the next step or frame."""

    @abstractmethod
    def frame(self, index: int) -> tuple[Animation, int]:
        """Return an animation and the index in it of a frame."""

    @abstractmethod
    def animation(self) -> Animation:
        """Return all frames."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the begin."""

    def resume(self) -> None:
        """Show the present state of a session again, from which it goes on."""
        return

    def capture(self) -> None:
        """Make the present state a frame; called for those that are sent to viewers."""
        return

    def status(self) -> list[str]:
        """Return what controllers say of the shown frame, in sentences."""
        return []

    @property
    def index(self) -> int:
        """Index of the shown frame."""
        return len(self.times) - 1 if self.shown is None else self.shown

    @property
    def time(self) -> float:
        """Time of the shown frame [time]."""
        return float(self.times[self.index])

    def show_time(self, time: float) -> None:
        """Show the frame nearest to a time."""
        times = self.times
        self.shown = int(np.abs(times - time).argmin())


class LiveMotion(Motion):
    """A session that is stepped, with the frames so far.

    Args:
        session: The session.

    Raises:
        SoftctlError: There is nothing to show.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.camera = Camera(session)
        self._snapshot: Snapshot | None = None
        self._captured = math.nan  # time of the last frame
        self._begin_frames()

    @property
    @override
    def times(self) -> np.ndarray:
        return np.array(self.camera.times)

    @override
    def advance(self) -> None:
        self.resume()
        self.session.step()

    @override
    def resume(self) -> None:
        self.shown = None

    @property
    @override
    def time(self) -> float:
        return self.session.time if self.shown is None else super().time

    @override
    def capture(self) -> None:
        if self.shown is not None or self.session.time == self._captured:
            return
        self._captured = self.session.time
        self.camera.capture_frame()
        if self.camera.memory > HISTORY_BYTES:
            self.camera.thin_out()

    @override
    def frame(self, index: int) -> tuple[Animation, int]:
        return self.camera.animation(slice(index, index + 1)), 0

    @override
    def animation(self) -> Animation:
        return self.camera.animation()

    @override
    def reset(self) -> None:
        self.session.reset()
        self.camera.clear()
        self._begin_frames()

    @property
    def has_snapshots(self) -> bool:
        """True if `keep` and `restore` work: on the embedded backend."""
        return self.session.backend.name == "embedded"

    def keep(self) -> str:
        """Keep the present state for `restore`; return what was done."""
        self._snapshot = self.session.snapshot()
        return f"Kept t = {self.session.time:.4g}."

    def restore(self) -> str:
        """Return to the state that was kept; return what was done."""
        if self._snapshot is None:
            return "No state was kept: press Keep first."
        self.session.restore(self._snapshot)
        self.camera.forget_after(self.session.time)
        self._begin_frames()
        return f"Back at t = {self.session.time:.4g}."

    def _begin_frames(self) -> None:
        """Capture the state to which the session has returned."""
        self.shown, self._captured = None, math.nan
        if not self.session.step_count:
            _show_first_goals(self.session)
        self.capture()

    @override
    def status(self) -> list[str]:
        if self.shown is not None or not self.session.step_count:
            return []
        sentences = []
        for controller in self.session.controllers:
            outputs = getattr(controller, "outputs", None)
            if isinstance(outputs, dict):
                sentences += _sentences(outputs, symbol(self.session.units, "length"))
        return sentences


def _show_first_goals(session: Session) -> None:
    """Write the goals of the first step to their Data, where they else are after it.

    The tips, which are not known before a step, are drawn there too.
    """
    for controller in session.controllers:
        goals, outputs = (getattr(controller, name, None) for name in ("goals", "outputs"))
        if goals is None or not isinstance(outputs, dict):
            continue
        with suppress(Exception):  # the first step says what is wrong
            points = goals.at(session.time + session.dt)
            controller.write_output("tip", points)
            goals.show(points)


def _sentences(outputs: dict[str, Any], length: str) -> list[str]:
    """Return the error and the status of a controller's last step in words."""
    sentences = []
    if "error" in outputs:
        errors = np.ravel(np.asarray(outputs["error"].value, dtype=float))
        if len(errors) and np.isfinite(errors).any():
            sentences.append(f"{_error_text(np.nanmax(errors))} {length} from the goal.")
    status = str(outputs["status"].value) if "status" in outputs else ""
    if status in Status.__members__:
        sentences.append(Status[status].value)
    elif status:
        sentences.append(status)
    return sentences


def _error_text(error: float) -> str:
    """Return an error with three digits, or 0 for one of rounding."""
    return f"{error:.3g}" if error > ROUNDING else "0"


class RecordedMotion(Motion):
    """A recording.

    Args:
        record: The recording.

    Raises:
        RecordError: There is nothing to show.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self._animation = animation_of(record)
        if not (self._animation.bodies or self._animation.lines or self._animation.markers):
            raise RecordError(
                "There is nothing to show: the recording has no bodies with meshes, no cables and "
                f"no goals. {'' if record.complete else record.status}".rstrip()
            )
        self.shown: int = 0

    @property
    @override
    def times(self) -> np.ndarray:
        return self.record.time

    @override
    def advance(self) -> None:
        self.shown = min(self.shown + 1, len(self.times) - 1)

    @property
    def at_end(self) -> bool:  # type: ignore[override]
        """True if the last frame is shown."""
        return self.shown == len(self.times) - 1

    @override
    def frame(self, index: int) -> tuple[Animation, int]:
        return self._animation, index

    @override
    def animation(self) -> Animation:
        return self._animation

    @override
    def reset(self) -> None:
        self.shown = 0
