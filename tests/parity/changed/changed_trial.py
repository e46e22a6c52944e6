"""A component of a scene, whose Data are set between two steps, for changed_data.py."""

import contextlib
import os
import select
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from changed_build import build, component_of, data_of, owners, runtime
from changed_values import values_for

BEFORE, AFTER = 2, 4
"""Steps before and after the change."""
AGREE = 1e-3
"""Difference from the scene that had it from the start, of the effect, that counts as none."""
FROM_THE_START = ("force field", "mass", "mapping", "topology")
"""Categories of components that carry what they made of their Data."""


@dataclass
class State:
    """Where a scene stands: what moves, and what components show."""

    time: float
    steps: float
    data: dict
    own: dict
    """What other components than force fields and the like carry from step to step."""


def state_of(root):
    clock = root.time.get(), root.nbComputedSteps.get()
    kept, own = {}, {}
    for place, owner in enumerate(owners(root)):
        if getattr(owner, "category", "force field") not in FROM_THE_START:
            own[place] = owner.snapshot()
        for name, data in list(owner._data.items()):
            moves = owner.__dict__.get("lam") is not None and "position velocity" in (
                f"{name.removeprefix('free_')} velocity",
                f"position {name.removeprefix('free_')}",
            )
            shown = data.type.read_only and not data.type.computed
            if moves or (shown and not data.hasParent()):
                value = data.get()
                kept[place, name] = value.copy() if isinstance(value, np.ndarray) else value
    return State(*clock, kept, own)


def put(root, state, component):
    """Bring a scene of the same graph to a state, but for what the component itself carries."""
    root.time.set(state.time)
    root.nbComputedSteps.set(state.steps)
    root.inherit()
    present_owners = owners(root)
    for (place, name), value in state.data.items():
        data = present_owners[place]._data[name]
        present = data.get()
        if isinstance(value, np.ndarray) and np.shape(present) == value.shape:
            np.copyto(present, value)
            data.touch()
        else:
            data.set(value)
    for place, own in state.own.items():
        if own and present_owners[place] is not component:
            present_owners[place].restore(own)


def seen(root, component):
    """All motion, and the numbers that the component shows."""
    numbers = []
    for owner in owners(root):
        if getattr(owner, "category", "") == "state":
            numbers += [owner._data[name].get() for name in ("position", "velocity")]
    for name, data in list(component._data.items()):
        if data.type.read_only and name != "bbox":
            value = data.get()
            if isinstance(value, np.ndarray | float | int):
                numbers.append(value)
    return np.concatenate([np.ravel(entry).astype(float) for entry in numbers] or [np.zeros(0)])


def same(first, second):
    return first.shape == second.shape and bool(np.array_equal(first, second, equal_nan=True))


def _distance(first, second):
    return np.abs(first - second).max() if first.shape == second.shape else np.inf


class Trial:
    """One component of one scene, whose Data are changed."""

    def __init__(self, scene, kind):
        self.scene, self.kind = scene, kind
        self.simulation = runtime().Simulation
        self.told = frozenset()
        with self._scene() as (root, component):
            names = data_of(type(component))
            self.values = {name: values_for(component._data[name]) for name in names}
            self.at_start = seen(root, component)
            self._step(root, BEFORE)
            self.state = state_of(root)
            self._step(root, AFTER)
            self.unchanged = self._seen(root, component)
        with self._scene() as (root, component):
            put(root, self.state, component)
            self._step(root, AFTER)
            self.unchanged_put = self._seen(root, component)

    @contextlib.contextmanager
    def _scene(self, name="", value=None):
        """Root, initialised, and the component; what they write goes to a folder of their own."""
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            root = build(self.scene)
            component = component_of(root, self.kind)
            if name:
                component._data[name].value = value
            self.simulation.init(root)
            yield root, component
            for end in root.__dict__.get("device", ()):
                os.close(end)

    def _step(self, root, count):
        self.simulation.animateNSteps(root, count, 0)

    def _seen(self, root, component):
        """All motion, numbers of the component, and what was written, at the end of a run."""
        numbers = seen(root, component)
        ends = root.__dict__.get("device", ())
        if not ends and not self.scene.startswith("changed_files"):
            return numbers
        if ends:
            while select.select(ends[:1], [], [], 0.02)[0]:
                numbers = np.append(numbers, np.frombuffer(os.read(ends[0], 10000), np.uint8))
            return numbers
        self.simulation.unload(root)
        written = [path for path in sorted(Path().iterdir()) if path.is_file()]
        content = b"".join(path.name.encode() + path.read_bytes() for path in written)
        return np.concatenate([numbers, np.frombuffer(content, np.uint8)])

    def later(self, name, value, *, reinit=False):
        """The same steps after the Data was changed between them."""
        with self._scene() as (root, component):
            self._step(root, BEFORE)
            if value is not None:
                component._data[name].value = value
            if reinit:
                component.reinit()
            self._step(root, AFTER)
            if not reinit:
                self.told = {(data.owner, data.name) for data in root.late_changes.told}
                self.told = {data for owner, data in self.told if owner is component}
            return self._seen(root, component)

    @cache  # noqa: B019, as long as the trial
    def reinitialised(self):
        """The steps after a `reinit` of what did not change."""
        return self.later("", None, reinit=True)

    def _from_start(self, name, value):
        """Numbers at the start, and at the end together with those of a scene without a change.

        From the same state where that fits.
        """
        with self._scene(name, value) as (root, component):
            present_owners, at_start = owners(root), seen(root, component)
            fits = len(present_owners) > max(
                (place for place, _ in self.state.data), default=-1
            ) and all(
                np.shape(present_owners[place]._data[key].get()) == np.shape(kept)
                for (place, key), kept in self.state.data.items()
                if key == "position" and present_owners[place].category == "state"
            )
            if fits:
                put(root, self.state, component)
            try:
                self._step(root, AFTER if fits else BEFORE + AFTER)
            except ValueError:  # what a solver carries is of another matrix
                self.state.own.clear()
                return self._from_start(name, value)
            given = self._seen(root, component)
        if not np.isfinite(given).all():
            raise ValueError("not finite")
        return at_start, given, self.unchanged_put if fits else self.unchanged

    def answer(self, name, value):
        """See ANSWERS; other exceptions than these where the value cannot be."""
        from sofa_softctl.errors import SceneError

        try:
            later = self.later(name, value)
        except SceneError:
            return "refused"
        try:
            at_start, given, unchanged = self._from_start(name, value)
        except SceneError:
            return "unchecked" if same(later, self.unchanged) else "part"
        if not same(later, self.unchanged):
            size = _distance(later, self.unchanged) if len(later) == len(given) else 0.0
            return "step" if size and _distance(later, given) < AGREE * size else "part"
        if same(given, unchanged) and same(at_start, self.at_start):
            return "none"
        if same(self.later(name, value, reinit=True), self.reinitialised()):
            return "start"
        return "reinit"
