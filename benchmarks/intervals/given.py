"""Coverage cases of a user's problem: data sets that it simulates itself, along planned motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from benchmarks.intervals.cases import Case
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.fitting.estimate import start_at
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.problem import Problem, load_problem
from sofa_softctl.identification.model.recording import Recording
from tests.support.chains import noise_of

HALVINGS = 2
"""Halvings of the time step of a generator with a finer one."""


def problem_case(
    name: str,
    files: Sequence[str],
    truth: Mapping[str, float] | None = None,
    *,
    generator: str = "",
) -> Case:
    """Data sets of a problem along planned motions.

    Args:
        name: Name of the problem, or FILE.py:NAME.
        files: Recordings, of which inputs are used, as the true ones.
        truth: True parameters; those left out are at their starts.
        generator: Refinement of the model that makes the data, such as 'dt' (twice) or 'mesh';
            empty: that of the problem itself.

    Raises:
        IdentificationError: An unknown parameter or refinement, or a problem whose outputs are
            computed from inputs, which need a simulated robot.
    """
    problem = load_problem(name)
    rho = starts(start_at(problem.parameters, truth or {}))
    names = [one.name for one in problem.parameters]
    for file in files:
        _generator(problem.experiment(read_recording(file, problem, planned=True)), generator)
    return Case(
        partial(load_problem, name),
        dict(zip(names, rho.tolist(), strict=True)),
        partial(_simulated, name=name, files=tuple(files), rho=tuple(rho), generator=generator),
        budget=bool(generator),
    )


def _simulated(
    problem: Problem,
    rng: np.random.Generator,
    *,
    name: str,
    files: tuple[str, ...],
    rho: tuple[float, ...],
    generator: str,
) -> list[Recording]:
    """New noise of inputs and outputs."""
    return [
        replace(
            clean,
            inputs=clean.inputs + noise_of(problem.inputs, clean.inputs, rng),
            outputs=exact + noise_of(problem.channels, exact, rng),
        )
        for clean, exact in (_exact(name, file, rho, generator) for file in files)
    ]


@cache
def _exact(
    name: str, file: str, rho: tuple[float, ...], generator: str
) -> tuple[Recording, np.ndarray]:
    """A planned motion, and outputs without noise, NaN where they would be missing."""
    problem = load_problem(name)
    recording = read_recording(file, problem, planned=True)
    exact = _generator(problem.experiment(recording), generator).outputs(np.array(rho))
    return recording, exact


def _generator(experiment: Experiment, refinement: str) -> Experiment:
    """The model that makes the data."""
    if experiment.outputs_from_inputs:
        raise IdentificationError(
            f"{experiment.name}: measured outputs are computed from recorded inputs, which the "
            "model does not simulate. Expected a problem with outputs of its own."
        )
    if not refinement:
        return experiment
    for _ in range(HALVINGS if refinement == "dt" else 1):
        offered = {one.name: one for one in experiment.refinements()}
        if refinement not in offered:
            raise IdentificationError(
                f"{experiment.name} has no finer model '{refinement}'. It has: "
                f"{', '.join(offered) or 'none'}."
            )
        experiment = offered[refinement].make()
    return experiment
