"""What becomes of a value that is set while a scene runs, for every Data of every component.

`python tests/parity/changed_data.py [components]` tries all in the scenes of this folder, writes
records/changed_data.json, from which test_changed_data.py tries the telling ones again, and the
table docs/reference/set-while-running.md. With `--more` it tries only what told nothing before.

A Data is set after BEFORE steps. The steps after it are compared with those of a scene that did
not change, and with those of one that had the value from the start and was brought to the same
state. Differing from the former they *follow* ("step"); where only the scene with the value from
the start differs, the change counts after `reinit` ("reinit"), or not at all ("start").
"""

import contextlib
import json
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path += [str(folder) for folder in (HERE, HERE / "changed") if str(folder) not in sys.path]
from changed_build import (  # noqa: E402, F401
    build,
    component_of,
    data_of,
    owners,
    runtime,
    scene_names,
)
from changed_trial import AFTER, BEFORE, Trial, same, seen  # noqa: E402, F401
from changed_values import is_idle  # noqa: E402

RECORD = HERE / "records" / "changed_data.json"
PAGE = HERE.parents[1] / "docs" / "reference" / "set-while-running.md"
SCENES_MAX, VALUES_MAX = 5, 5
"""Tried for each component, and for each Data in each."""
SECONDS = 15.0
"""After which no further scenes are tried for what SCENES_MAX scenes do not tell."""
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


def classes():
    from sofa_softctl.runtime import components
    from sofa_softctl.runtime.core.node import Node

    every = [getattr(components, name) for name in components.__all__]
    return [Node, *(cls for cls in every if cls.__module__.split(".")[-2] != DRAWN)]


@cache
def scenes_with():
    """Names of the scenes that hold a class of component, the quickest first."""
    names_of = {}
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
            names_of.setdefault(kind, []).append((seconds, name))
    return {kind: [name for _, name in sorted(names)] for kind, names in names_of.items()}


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
    answers = {name: known.get(name, ["untried", "", 0]) for name in data_of(cls)}
    some, others = spread(scenes_with().get(cls.__name__, []))
    end = time.monotonic() + SECONDS
    for scene in some + others:
        open_ = [
            name
            for name, (answer, *_) in answers.items()
            if answer not in (known.get(name) and TELLING or ("step",))
            and (scene in some or answer not in (*TELLING, "idle"))
        ]
        if not open_ or (scene in others and time.monotonic() > end):
            break
        try_all(Trial(scene, cls.__name__), open_, answers, kinds)
    return answers


def try_all(trial, names, answers, kinds):
    """The values of each Data in a scene; keeps in `answers` what tells most."""
    for name in names:
        idle = is_idle(kinds[name])
        for number, value in enumerate(trial.values[name][: 1 if idle else VALUES_MAX]):
            if answers[name][0] == "step" or (idle and answers[name][0] == "idle"):
                break
            try:
                answer = trial.answer(name, value)
            except Exception as error:  # a value that the scene cannot have
                print(f"{trial.scene} {trial.kind}.{name}: {error!r:.200}", file=sys.stderr)
                continue
            answer = "idle" if idle and answer == "none" else answer
            if ORDER.index(answer) > ORDER.index(answers[name][0]):
                answers[name] = [answer, trial.scene, number]


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
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # scenes write files
        main([entry for entry in sys.argv[1:] if entry != "--more"], more="--more" in sys.argv)
