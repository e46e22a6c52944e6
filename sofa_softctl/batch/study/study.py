"""A study: a scene, its parameters, what is measured, limits, and what is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sofa_softctl.batch.study.axes import Axis
from sofa_softctl.batch.study.design import design

ID_LENGTH = 16
"""Digits of the names of runs."""


@dataclass(frozen=True)
class Scenario:
    """What every run of a study shares: the part that goes to the workers with each task."""

    scene: str = ""
    """Scene file; empty: `function` is called instead."""
    function: str = ""
    """'FILE.py:NAME' of a function that takes the parameters by keyword, and returns a dict of
    measures."""
    steps: int | None = None
    """Steps of a run; None: `duration`."""
    duration: float | None = None
    """Simulated time of a run [time]; None, too: the scene's DURATION."""
    warmup: int = 0
    """Steps before a run begins; done once for runs that differ in Data alone."""
    steps_most: int | None = None
    """A run that needs more steps than these fails before it begins; None: any."""
    backend: str = "embedded"
    """'embedded' or 'sofa'."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """What is measured, by column; see `measures.measured`. Empty: all numbers of summaries."""
    success: str = ""
    """The measure that is true where a run succeeded; empty: the verdict of the run says so."""


@dataclass(frozen=True)
class Limits:
    """Limits of each run; one that exceeds them is a row with that status."""

    seconds: float | None = None
    """Computing time [s]; None: any."""
    memory: float | None = None
    """Resident memory of its process [bytes]; None: any. Embedded processes only."""


@dataclass(frozen=True)
class Run:
    """One run of a study."""

    index: int
    """Its number in the study, from 0."""
    id: str
    """Its name: the same parameters have the same one, in every study of this scenario."""
    parameters: Mapping[str, Any]
    """Of createScene or of the function; with a dot in the name, Data that is set after the
    warm-up, such as 'inverse.effectorGoal'."""


@dataclass(frozen=True)
class Study:
    """A study, of a TOML file by `read_study`, or of Python by `make_study`."""

    name: str
    """Its name, from which its folder is named."""
    scenario: Scenario
    """What its runs share."""
    axes: Mapping[str, Axis]
    """Its parameters."""
    method: str = "grid"
    """How they are combined: one of `parameters.design.METHODS`."""
    count: int | None = None
    """Number of samples; grids and lists have as many runs as they have."""
    seed: int = 0
    """Of the samples."""
    limits: Limits = Limits()
    """Of each run."""
    record: Literal["none", "failures", "all"] = "none"
    """Which runs leave a recording."""
    movie: Literal["none", "failures"] = "none"
    """Which runs leave a movie."""
    plugins: tuple[str, ...] = ()
    """Plugin files that workers load."""
    files: tuple[str, ...] = ()
    """Files that only some runs read, and which workers of a cluster need too."""
    text: str = ""
    """Text of its file."""
    folder: str = ""
    """Folder of that file, to which the names of files in it are relative."""

    def runs(self) -> Iterator[Run]:
        """Its runs, in the order of the design; those with the same parameters once."""
        seen: set[str] = set()
        for parameters in design(self.axes, self.method, count=self.count, seed=self.seed):
            name = run_id(self.scenario, parameters)
            if name not in seen:
                yield Run(len(seen), name, parameters)
                seen.add(name)


def run_id(scenario: Scenario, parameters: Mapping[str, Any]) -> str:
    """Name of a run: a digest of its parameters and its length."""
    what = {
        "parameters": dict(parameters),
        "length": [scenario.steps, scenario.duration, scenario.warmup],
        "backend": scenario.backend,
    }
    text = json.dumps(what, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]
