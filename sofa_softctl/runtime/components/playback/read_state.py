"""ReadState moves a state as a file says; CompareState measures the distance from a file."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.components.playback.files import FileComponent, spell_all
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import Bool, Real, Text, Vector
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.simulation.followers import place_follower

Frame = tuple[float, dict[str, np.ndarray]]
"""Time, and the vectors at that time by their letters in the file."""


class ReadState(FileComponent):
    """Sets positions and velocities of its node's state from a file at the start of steps.

    They belong to the last time in the file that has passed; mapped states follow. The file has
    the format of `WriteState`: lines `T= time`, `X= positions`, `V= velocities`.
    """

    filename = Text("", "File; compressed if it ends with .gz.", follows="start")
    interval = Real(0.0, "Unused.", unit="time")
    shift = Real(0.0, "Offset that is added to the time to look up in the file.", unit="time")
    loop = Bool(False, "Restart after the end of the file.")
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
            reason = getattr(error, "strerror", None) or error
            complain(self, self.fault(f"cannot read '{self.filename.get()}' ({reason})."))
        self.reset()

    def bwdInit(self) -> None:
        """Apply the file's values at the start."""
        self._advance(self.current_time)

    def reset(self) -> None:
        """Restart at the beginning of the file."""
        self._next, self._start = 0, 0.0

    def handle(self, event: Event) -> None:
        """Move the state at the start of a step."""
        if event["type"] == "AnimateBeginEvent" and self.listening.get():
            self._advance(self.current_time)

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"next": self._next, "start": self._start}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._next, self._start = snapshot["next"], snapshot["start"]

    def due(self, now: float) -> dict[str, np.ndarray]:
        """Return the vectors of the last time in the file that passed since the last call."""
        vectors: dict[str, np.ndarray] = {}
        while self._frames:
            if self._next == len(self._frames):
                if not self.loop.get() or self._frames[-1][0] <= 0.0:
                    break
                self._next, self._start = 0, self._start + self._frames[-1][0]
            time, candidates = self._frames[self._next]
            if self._start + time > now:
                break
            vectors = candidates
            self._next += 1
        return vectors

    def _advance(self, now: float) -> None:
        vectors = self.due(now + self.shift.get())
        state = self._state
        if state is None or not vectors:
            return
        for letter, name, width in (
            ("X", "position", state.coord_size),
            ("V", "velocity", state.deriv_size),
        ):
            if letter not in vectors:
                continue
            rows = reading.whole_rows(vectors[letter], width)
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
        """Return True if a component in its node or below keeps values per node."""
        assert self._context is not None
        kinds = ("force field", "mass", "constraint", "projective constraint", "mapping")
        return any(node.of(kind) for node in self._context.walk() for kind in kinds)

    def _propagate(self) -> None:
        """Apply the mappings in its node and below."""
        assert self._context is not None
        for node in self._context.walk():
            for mapping in node.of("mapping"):
                if isinstance(mapping, Mapping) and mapping.mechanical and mapping._initialised:
                    place_follower(mapping)


class CompareState(ReadState):
    """Measures the distance of its node's state from a file, and leaves the state unchanged.

    The distance is the mean over all coordinates, rounded as in the file.
    """

    totalError_X = 0.0
    """Sum of the distances of positions over the times of the file."""
    totalError_V = 0.0
    """Sum of the distances of velocities over the times of the file."""

    def bwdInit(self) -> None:
        """Compare nothing yet; SOFA's component moves the state here, as ReadState does."""
        if keeps_sofa_defects():
            super()._advance(self.current_time)

    def _advance(self, now: float) -> None:
        vectors = self.due(now + self.shift.get() + 1e-3 * self.dt)
        for letter, name in (("X", "position"), ("V", "velocity")):
            if letter in vectors and self._state is not None:
                current = reading.first_numbers(spell_all(self._state._data[name].get()))
                count = min(len(current), len(vectors[letter]))
                gaps = np.abs(current[:count] - vectors[letter][:count])
                error = float(gaps.mean()) if count else 0.0
                setattr(self, f"totalError_{letter}", getattr(self, f"totalError_{letter}") + error)


def _read(path: str) -> list[Frame]:
    """Return the times of a file and their vectors."""
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
