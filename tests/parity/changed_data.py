"""What becomes of a value that is set while a scene runs, for every Data of every component.

`python tests/parity/changed_data.py [components]` tries all in the scenes of this folder, writes
records/changed_data.json, from which test_changed_data.py tries the telling ones again, and the
table docs/reference/set-while-running.md.

A Data is set after BEFORE steps. The steps after it are compared with those of a scene that did
not change, and with those of one that had the value from the start and was brought to the same
state. Differing from the former they *follow* ("step"); where only the scene with the value from
the start differs, the change counts after `reinit` ("reinit"), or not at all ("start").
"""

import contextlib
import importlib.util
import json
import os
import select
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RECORD = HERE / "records" / "changed_data.json"
PAGE = HERE.parents[1] / "docs" / "reference" / "set-while-running.md"
BEFORE, AFTER = 2, 4
"""Steps before and after the change."""
AGREE = 1e-3
"""Difference from the scene that had it from the start, of the effect, that counts as none."""
SCENES_MAX, VALUES_MAX = 5, 5
"""Tried for each component, and for each Data in each."""
SECONDS = 15.0
"""After which no further scenes are tried for what SCENES_MAX scenes do not tell."""
OF_ALL = frozenset("name tags printLog listening src template bbox".split())
"""Data of every component, which say nothing of its motion."""
FROM_THE_START = ("force field", "mass", "mapping", "topology")
"""Categories of components that carry what they made of their Data."""
DRAWN = "visual"
"""Family of components that do nothing."""
ANSWERS = {
    "step": "takes effect, and the motion is that of a scene that had it from the start",
    "part": "takes effect",
    "reinit": "after `reinit()`",
    "start": "read at the start",
    "none": "no effect on the motion",
    "idle": "no effect, as its description says",
    "unchecked": "refused at the start alone",
    "refused": "refused at the line that sets it",
    "untried": "not tried",
}
ORDER = ("untried", "refused", "unchecked", "idle", "none", "start", "reinit", "part", "step")
"""From what says least of a Data to what says most."""
TELLING = ("start", "reinit", "part", "step")


def runtime():
    from sofa_softctl.scene.backend import find_backend

    return find_backend("embedded").Sofa


@cache
def module(name):
    if str(HERE) not in sys.path:
        sys.path.append(str(HERE))
    spec = importlib.util.spec_from_file_location(f"changed_{name}", HERE / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@cache
def scene_names():
    """Of all scenes: 'module/case'."""
    names = [
        f"{kind}/{case}"
        for kind in (
            "mechanics",
            "solids",
            "examples",
            "topologies",
            "engines",
            "parity_scenes",
            "changed_scenes",
            "changed_files",
        )
        for case in module(kind).CASES
    ]
    return [name for name in names if "SCENES" not in name]


def build(name):
    """Root of a scene that is not initialised."""
    kind, case = name.split("/")
    cases, root = module(kind).CASES, runtime().Core.Node("root")
    if kind == "parity_scenes":
        create, options = cases[case]
        create(root, **options)
    elif kind in ("topologies", "engines"):
        root.gravity = [3.0, -98.1, 20.0]
        root.addObject("DefaultAnimationLoop")
        cases[case](root.addChild("node"))
    else:
        if kind == "solids" and case.endswith("_held"):
            first = case.startswith("velocities")
            root.addObject("FreeMotionAnimationLoop", solveVelocityConstraintFirst=first)
        elif kind not in ("examples", "changed_scenes", "changed_files") and not case.startswith(
            "constraint"
        ):
            root.addObject("DefaultAnimationLoop")
        cases[case](root)
    return root


def owners(root):
    """Nodes and components, without the contacts of a step."""
    every = [owner for node in root.walk(everything=True) for owner in (node, *node.objects)]
    return [owner for owner in every if getattr(owner, "category", "") != "contact"]


def component_of(root, kind):
    """The first component of a class; the root itself for 'Node'."""
    return next((owner for owner in owners(root) if type(owner).__name__ == kind), None)


@dataclass
class State:
    """Where a scene stands: what moves, and what components show."""

    time: float
    steps: float
    data: dict
    own: dict
    """What other components than force fields and the like carry from step to step."""


def state_of(root):
    clock = root._data["time"].get(), root._data["nbComputedSteps"].get()
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
    root._data["time"].set(state.time)
    root._data["nbComputedSteps"].set(state.steps)
    root.inherit()
    found = owners(root)
    for (place, name), value in state.data.items():
        data = found[place]._data[name]
        present = data.get()
        if isinstance(value, np.ndarray) and np.shape(present) == value.shape:
            np.copyto(present, value)
            data.touch()
        else:
            data.set(value)
    for place, own in state.own.items():
        if own and found[place] is not component:
            found[place].restore(own)


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


def same(one, other):
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=True))


def _distance(one, other):
    return np.abs(one - other).max() if one.shape == other.shape else np.inf


class Trial:
    """One component of one scene, whose Data are changed."""

    def __init__(self, scene, kind):
        self.scene, self.kind = scene, kind
        self.simulation = runtime().Simulation
        self.told = frozenset()
        with self._scene() as (root, component):
            names = data_of(type(component))
            self.values = {
                name: module("changed_values").values_for(component._data[name]) for name in names
            }
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
            found, at_start = owners(root), seen(root, component)
            fits = len(found) > max((place for place, _ in self.state.data), default=-1) and all(
                np.shape(found[place]._data[key].get()) == np.shape(kept)
                for (place, key), kept in self.state.data.items()
                if key == "position" and found[place].category == "state"
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


def classes():
    from sofa_softctl.runtime import components
    from sofa_softctl.runtime.core.node import Node

    every = [getattr(components, name) for name in components.__all__]
    return [Node, *(cls for cls in every if cls.__module__.split(".")[-2] != DRAWN)]


def data_of(cls):
    """Names of the Data of a class that a scene may set."""
    return [n for n, kind in cls.data_types.items() if n not in OF_ALL and not kind.read_only]


@cache
def scenes_with():
    """Names of the scenes that hold a class of component, the quickest first."""
    found = {}
    for name in scene_names():
        start = time.perf_counter()
        try:
            root = build(name)
            held = {type(owner).__name__ for owner in owners(root)}
            runtime().Simulation.init(root)
            runtime().Simulation.animateNSteps(root, BEFORE + AFTER, 0)
        except Exception as error:  # files that only a test lays out
            print(f"{name}: {error}", file=sys.stderr)
            continue
        seconds = time.perf_counter() - start
        for kind in held:
            found.setdefault(kind, []).append((seconds, name))
    return {kind: [name for _, name in sorted(names)] for kind, names in found.items()}


def spread(names):
    """Some of the scenes, over all of them, without the slow ones; then the others."""
    some = names[: max(len(names) * 4 // 5, SCENES_MAX)]
    places = np.unique(np.linspace(0, len(some) - 1, min(SCENES_MAX, len(some))).astype(int))
    return [some[place] for place in places], [
        name for place, name in enumerate(names) if place not in places
    ]


def sweep(cls, known=None):
    """For each Data: the answer, the scene and the number of the value that tell it.

    Data for which some scenes tell nothing are tried in all, as long as SECONDS last.

    Args:
        known: The same of an earlier sweep; what it tells is tried again by the test only.
    """
    kinds, known = cls.data_types, known or {}
    found = {name: known.get(name, ["untried", "", 0]) for name in data_of(cls)}
    some, others = spread(scenes_with().get(cls.__name__, []))
    end = time.monotonic() + SECONDS
    for scene in some + others:
        open_ = [
            name
            for name, (answer, *_) in found.items()
            if answer not in (known.get(name) and TELLING or ("step",))
            and (scene in some or answer not in (*TELLING, "idle"))
        ]
        if not open_ or (scene in others and time.monotonic() > end):
            break
        try_all(Trial(scene, cls.__name__), open_, found, kinds)
    return found


def try_all(trial, names, found, kinds):
    """The values of each Data in a scene; keeps in `found` what tells most."""
    for name in names:
        idle = module("changed_values").is_idle(kinds[name])
        for number, value in enumerate(trial.values[name][: 1 if idle else VALUES_MAX]):
            if found[name][0] == "step" or (idle and found[name][0] == "idle"):
                break
            try:
                answer = trial.answer(name, value)
            except Exception as error:  # a value that the scene cannot have
                print(f"{trial.scene} {trial.kind}.{name}: {error!r:.200}", file=sys.stderr)
                continue
            answer = "idle" if idle and answer == "none" else answer
            if ORDER.index(answer) > ORDER.index(found[name][0]):
                found[name] = [answer, trial.scene, number]


def page(record):
    """The table for the reference."""
    counts = Counter(entry[0] for row in record.values() for entry in row.values())
    lines = [
        "# Values that are set while a scene runs",
        "",
        "What becomes of a Data that a script sets after the start, for every component of the",
        "embedded runtime. Setting one that does not take effect is a warning, after the step.",
        "",
        f"Of {sum(counts.values())} Data {counts['step'] + counts['part']} take effect in the next",
        f"step, {counts['reinit']} after `reinit()` of their component, and {counts['start']} are",
        f"read at the start alone. {counts['unchecked']} are read at the start too, which refuses",
        "what the component cannot do: set later, it is a warning. Without effect, as their",
        f"descriptions say, are {counts['idle']}: drawing, and what the runtime does not need.",
        f"{counts['none']} more had no effect on the motion, on files, or on outputs in up to some",
        "dozen scenes: limits that did not bind, inputs that others replace, options of other",
        f"cases. {counts['refused']} are refused at the line that sets them,",
        f"{counts['untried']} were not tried.",
        "Numbers of nodes, elements and the like that do not exist are an error, at the line that",
        "sets them. A list of whole numbers is replaced as a whole: what a script kept of",
        "`indices.value` before is not changed by that.",
        "`python tests/parity/changed_data.py` makes this table, a test tries its entries again.",
        "",
        "| component | takes effect | after `reinit()` | read at the start "
        "| no effect where tried |",
        "|---|---|---|---|---|",
    ]
    for kind, row in sorted(record.items()):
        cells = [
            ", ".join(sorted(name for name, entry in row.items() if entry[0] in answers))
            for answers in (("step", "part"), ("reinit",), ("start", "unchecked"), ("none",))
        ]
        if any(cells):
            lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(kinds, *, more=False):
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for cls in classes():
        if not kinds or cls.__name__ in kinds:
            record[cls.__name__] = sweep(cls, record.get(cls.__name__) if more else None)
            print(cls.__name__, Counter(entry[0] for entry in record[cls.__name__].values()))
            rows = (f'"{kind}": {json.dumps(row, sort_keys=True)}' for kind, row in record.items())
            RECORD.write_text("{\n" + ",\n".join(sorted(rows)) + "\n}\n")
    PAGE.write_text(page(record))


if __name__ == "__main__":
    import logging

    logging.disable(logging.CRITICAL)
    main([entry for entry in sys.argv[1:] if entry != "--more"], more="--more" in sys.argv)
