"""ReadState: a state that moves as a file says; CompareState tells how far one is from a file."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.components.playback.files import FileComponent, spelt_all
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import Bool, Real, Text, Vector
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.simulation.system import place_follower

Frame = tuple[float, dict[str, np.ndarray]]
"""Time, and the vectors of that time by their letters, as they stand in the file."""


class ReadState(FileComponent):
    """Gives the state of its node the positions and velocities of a file, at the start of steps.

    Those of the last time in the file that has come; what is mapped follows. The file is as
    `WriteState` writes it: lines `T= time`, `X= positions`, `V= velocities`.
    """

    filename = Text("", "File; compressed if it ends with .gz.", follows="start")
    interval = Real(0.0, "Unused.", unit="time")
    shift = Real(0.0, "Added to the time before it is looked for in the file.", unit="time")
    loop = Bool(False, "Begin anew after the end of the file.")
    scalePos = Real(1.0, "Scale of the positions.")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z.", unit="degree")
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation of the positions.", unit="length")

    _frames: list[Frame]

    def init(self) -> None:
        """Read the file."""
        self._frames = []
        self._state: Any = self._context.find_upward("state") if self._context else None
        if not self.filename.get():
            complain(self, self.fault("needs 'filename', the file to read."))
            return
        try:
            self._frames = _read(self.find(self.filename.get()))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            complain(self, self.fault(f"cannot read '{self.filename.get()}' ({why})."))
        self.reset()

    def bwdInit(self) -> None:
        """Take over what the file says of the start."""
        self._advance(self.now)

    def reset(self) -> None:
        """Begin with the start of the file."""
        self._next, self._start = 0, 0.0

    def handle(self, event: Event) -> None:
        """Move the state at the start of a step."""
        if event["type"] == "AnimateBeginEvent" and self.listening.get():
            self._advance(self.now)

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"next": self._next, "start": self._start}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._next, self._start = snapshot["next"], snapshot["start"]

    def due(self, now: float) -> dict[str, np.ndarray]:
        """Vectors of the last time in the file that has come since the last call."""
        found: dict[str, np.ndarray] = {}
        while self._frames:
            if self._next == len(self._frames):
                if not self.loop.get() or self._frames[-1][0] <= 0.0:
                    break
                self._next, self._start = 0, self._start + self._frames[-1][0]
            time, vectors = self._frames[self._next]
            if self._start + time > now:
                break
            found = vectors
            self._next += 1
        return found

    def _advance(self, now: float) -> None:
        found = self.due(now + self.shift.get())
        state = self._state
        if state is None or not found:
            return
        for letter, name, width in (
            ("X", "position", state.coord_size),
            ("V", "velocity", state.deriv_size),
        ):
            if letter not in found:
                continue
            rows = reading.whole_rows(found[letter], width)
            if letter == "X":
                scale = np.full(3, self.scalePos.get())
                rows = state.kind.transformed(
                    rows, scale, self.rotation.get(), self.translation.get()
                )
                if len(rows) != state.count and self._keeps_nodes():
                    raise self.fault(
                        f"reads positions of {len(rows)} nodes, but {state.describe()} has "
                        f"{state.count}, for each of which components beside it keep values."
                    )
                state.resize(rows)
            state._data[name].get()[: len(rows)] = rows[: state.count]
            state._data[name].touch()
        self._propagate()

    def _keeps_nodes(self) -> bool:
        """Whether something in its node and below holds values of each node."""
        assert self._context is not None
        kinds = ("force field", "mass", "constraint", "projective constraint", "mapping")
        return any(node.of(kind) for node in self._context.walk() for kind in kinds)

    def _propagate(self) -> None:
        """Place what is mapped in its node and below."""
        assert self._context is not None
        for node in self._context.walk():
            for mapping in node.of("mapping"):
                if isinstance(mapping, Mapping) and mapping.mechanical and mapping._initialised:
                    place_follower(mapping)


class CompareState(ReadState):
    """Tells how far the state of its node is from that in a file; the state stays as it is.

    The distance is the mean over all coordinates, rounded as in the file.
    """

    totalError_X = 0.0
    """Sum over the times of the file of the distances of positions."""
    totalError_V = 0.0
    """The same of velocities."""

    def bwdInit(self) -> None:
        """Nothing to compare yet; SOFA's moves the state here, as ReadState does."""
        if keeps_sofa_defects():
            super()._advance(self.now)

    def _advance(self, now: float) -> None:
        found = self.due(now + self.shift.get() + 1e-3 * self.dt)
        for letter, name in (("X", "position"), ("V", "velocity")):
            if letter in found and self._state is not None:
                here = reading.first_numbers(spelt_all(self._state._data[name].get()))
                count = min(len(here), len(found[letter]))
                gaps = np.abs(here[:count] - found[letter][:count])
                error = float(gaps.mean()) if count else 0.0
                setattr(self, f"totalError_{letter}", getattr(self, f"totalError_{letter}") + error)


def _read(path: str) -> list[Frame]:
    """The times of a file and their vectors."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="ascii")
    frames: list[Frame] = []
    with opened as file:
        for line in file:
            letter, _, rest = line.strip().partition("=")
            if letter == "T":
                frames.append((float(rest), {}))
            elif letter and frames:
                frames[-1][1][letter] = reading.first_numbers(rest)
    return frames
