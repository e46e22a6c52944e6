"""WriteState: positions, velocities and forces of a state in a text file."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from sofa_softctl.runtime.components.playback.files import FileComponent, spell, spell_all
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Reals, Text
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.message import complain, not_negative

_VECTORS = {
    "writeX": ("X", "position"),
    "writeX0": ("X0", "rest_position"),
    "writeV": ("V", "velocity"),
    "writeF": ("F", "force"),
}


class WriteState(FileComponent):
    """Writes the state of its node at the start of steps, as `ReadState` reads it.

    Without `time` at every step; with `time` at these times; with `period` from the first time on.
    """

    filename = Text("", "File; compressed if it ends with .gz.", follows="reinit")
    writeX = Bool(True, "Write positions.")
    writeX0 = Bool(False, "Write rest positions.")
    writeV = Bool(False, "Write velocities.")
    writeF = Bool(False, "Write forces.")
    time = Reals([], "Times at which to write.", unit="time", follows="reinit")
    period = Real(0.0, "Time between outputs after the first.", unit="time", follows="reinit")
    DOFsX = Integers([], "Unused.")
    DOFsV = Integers([], "Unused.")
    stopAt = Real(0.0, "Stop once the kinetic energy changes by less.", unit="energy")
    keperiod = Real(0.0, "Time between checks of the kinetic energy.", unit="time")

    _path = ""
    """The file, or "" if nothing is written."""

    def init(self) -> None:
        """Empty the file and compute the times."""
        not_negative(self, "stopAt", 0.0)
        self._path = ""
        self._state: Any = self._context.find_upward("state") if self._context else None
        self._is_periodic = self.period.isSet() or not self.time.isSet()
        self._times = list(self.time.get()) if self.time.isSet() else [0.0]
        self._period = self.period.get() if self.period.isSet() else self.dt
        if self._is_periodic:
            self._times = self._times[:1] or [0.0]
            self.time.set(np.array(self._times))
            self.period.set(self._period)
        self.reset()
        if any(time < 0.0 or (time == 0.0 and k) for k, time in enumerate(self._times)):
            complain(self, self.fault("takes positive times in 'time'; nothing is written."))
        elif not self.filename.get():
            complain(self, self.fault("needs 'filename', the file to write; nothing is written."))
        elif self.writes:
            self._begin(self.path_of(self.filename.get()))

    def _begin(self, path: str) -> None:
        """Empty the file, unless this run has started it already."""
        if not self.claims(path):
            return
        try:
            with open(path, "wb" if self.first else "ab"):
                self._path = path
        except OSError as error:
            complain(self, self.fault(f"cannot write '{path}' ({error.strerror})."))

    def reset(self) -> None:
        """Restart at the first time; the file continues."""
        self._next, self._last, self._is_stopped = 0, 0.0, False
        self._next_energy_check, self._energy = self.keperiod.get(), 0.0

    def reinit(self) -> None:
        """Restart at the first time, in the same file or a new 'filename'."""
        self.init()

    def handle(self, event: Event) -> None:
        """Write at the start of a step if it is time."""
        if event["type"] != "AnimateBeginEvent" or not self.listening.get():
            return
        if not self._path or self._state is None or self._is_stopped:
            return
        now = self.current_time
        if self.stopAt.get() and now > self._next_energy_check:
            self._check_energy()
        if self._is_time(now):  # also in the step that stops it, as in SOFA
            self._write(now)

    def _is_time(self, now: float) -> bool:
        if self._next < len(self._times):
            self._last = self._times[self._next]
            if now <= self._last and abs(now - self._last) >= 0.1 * self.dt:
                return False
            self._next += 1
            return True
        due = self._last + self._period
        if not self._is_periodic or (now <= due and abs(now - due) >= 0.1 * self.dt):
            return False
        self._last += self._period
        return True

    def _check_energy(self) -> None:
        mass: Any = self._context.getMass() if self._context else None
        if mass is None:
            raise self.fault("needs a mass in its node for 'stopAt', to know the kinetic energy.")
        v = self._state.velocity.get()
        product = np.zeros_like(v)
        mass.add_product(product, v, 0.5)
        energy = float((product * v).sum())
        self._is_stopped = abs(energy - self._energy) < self.stopAt.get()
        if not self._is_stopped:
            self._energy = energy
            self._next_energy_check += self.keperiod.get()

    def _write(self, now: float) -> None:
        lines = [f"T= {spell(now)}\n"]
        for flag, (letter, name) in _VECTORS.items():
            if self._data[flag].get():
                lines.append(f"  {letter}= {spell_all(self._state._data[name].get())}\n")
        opened = gzip.open if self._path.endswith(".gz") else open
        with opened(self._path, "at", encoding="ascii") as file:
            file.writelines(lines)
