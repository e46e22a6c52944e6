"""Study: a scene, its parameters, measures, limits, and recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sofa_softctl.batch.study.axes import Axis
from sofa_softctl.batch.study.design import design

ID_LENGTH = 16
"""Number of digits of the names of runs."""


@dataclass(frozen=True)
class Scenario:
    """Common part of all runs of a study, sent to the workers with each task."""

    scene: str = ""
    """Scene file, or "" to call `function` instead."""
    function: str = ""
    """'FILE.py:NAME' of a function that takes the parameters by keyword, and returns a dict of
    measures."""
    steps: int | None = None
    """Steps of a run, or None for `duration`."""
    duration: float | None = None
    """Simulated time of a run [time]; without steps and duration, the scene's DURATION."""
    warmup: int = 0
    """Steps before a run begins; done once for runs that differ only in Data."""
    steps_most: int | None = None
    """Steps above which a run fails before it begins, or None for no limit."""
    backend: str = "embedded"
    """'embedded' or 'sofa'."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """Measures by column, see `measures.measured`; {} for all numbers of summaries."""
    success: str = ""
    """Measure that is true if a run succeeded, or "" for the verdict of the run."""


@dataclass(frozen=True)
class Limits:
    """Limits of each run; one that exceeds them is a row with that status."""

    seconds: float | None = None
    """Computing time [s], or None for no limit."""
    memory: float | None = None
    """Resident memory of its process [bytes], or None. Embedded processes only."""


@dataclass(frozen=True)
class Run:
    """One run of a study."""

    index: int
    """Number of the run in the study, from 0."""
    id: str
    """Name of the run: the same for the same parameters, in every study of this scenario."""
    parameters: Mapping[str, Any]
    """Parameters of createScene or the function; with a dot in the name, Data set after the
    warm-up, such as 'inverse.effectorGoal'."""


@dataclass(frozen=True)
class Study:
    """Study, read from a TOML file by `read_study` or made in Python by `make_study`."""

    name: str
    """Name of the study and its folder."""
    scenario: Scenario
    """Common part of its runs."""
    axes: Mapping[str, Axis]
    """Parameters by name."""
    method: str = "grid"
    """Combination of their values: one of `design.METHODS`."""
    count: int | None = None
    """Number of samples; grids and lists need none."""
    seed: int = 0
    """Seed of the samples."""
    limits: Limits = Limits()
    """Limits of each run."""
    record: Literal["none", "failures", "all"] = "none"
    """Runs with a recording."""
    movie: Literal["none", "failures"] = "none"
    """Runs with a movie."""
    plugins: tuple[str, ...] = ()
    """Plugin files that workers load."""
    files: tuple[str, ...] = ()
    """Files that only some runs read, and which workers of a cluster need too."""
    text: str = ""
    """Text of its file."""
    folder: str = ""
    """Folder of that file, to which the names of files in it are relative."""

    def runs(self) -> Iterator[Run]:
        """Yield the runs in the order of the design, each set of parameters once."""
        names: set[str] = set()
        for parameters in design(self.axes, self.method, count=self.count, seed=self.seed):
            name = run_id(self.scenario, parameters)
            if name not in names:
                yield Run(len(names), name, parameters)
                names.add(name)


def run_id(scenario: Scenario, parameters: Mapping[str, Any]) -> str:
    """Return the name of a run: a digest of its parameters and its length."""
    content = {
        "parameters": dict(parameters),
        "length": [scenario.steps, scenario.duration, scenario.warmup],
        "backend": scenario.backend,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]
