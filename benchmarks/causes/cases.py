"""Cases of the study of causes: robots that recorded themselves, and what models of them leave out.

A robot is the model with an effect, whose size is a multiple of what shifts a parameter of the
estimate by one standard deviation, or a recording whose columns are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.intervals.cases import ARM, arm, three_torques
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.causes.columns import possible_changes_of
from sofa_softctl.identification.causes.extended import with_effect
from sofa_softctl.identification.causes.score import score
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting.estimate import estimate, start_at
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.model.experiment import Effect, Experiment
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from tests.support.chains import CHAIN, chain, noise_of, one_torque

MULTIPLES = (3.0, 10.0, 50.0)
"""Sizes: shifts of the parameter that is shifted most, in its standard deviations."""
DT = 0.01
"""Sample period [s]."""


@dataclass(frozen=True, eq=False)
class Plant:
    """A mechanism, its true parameters, and how it is driven."""

    problem: Callable[[], MechanismProblem]
    """Makes the problem."""
    truth: dict[str, float]
    """True parameters."""
    torque: Callable[[np.ndarray], np.ndarray]
    """Recorded inputs by time."""
    duration: float
    """Length of recordings [s]."""
    effects: tuple[str, ...]
    """Effects that robots have."""
    columns: tuple[str, ...]
    """Changes of columns that recordings have."""


PLANTS = {
    "rods": Plant(
        chain,
        CHAIN,
        one_torque,
        2.0,
        (
            "friction.b",
            "damping.b",
            "armature.b",
            "payload.b",
            "mass.b",
            "gain.a",
            "offset.a",
            "delay.a",
            "gain.torque",
            "offset.torque",
            "delay.torque",
        ),
        ("swap.a.b", "sign.b", "sign.torque"),
    ),
    "arm": Plant(
        arm,
        ARM,
        three_torques,
        4.0,
        (
            "friction.elbow",
            "damping.elbow",
            "mass.elbow",
            "gain.shoulder",
            "offset.elbow",
            "gain.torque_elbow",
            "delay.torque_shoulder",
        ),
        ("swap.shoulder.elbow", "swap.torque_shoulder.torque_elbow", "sign.torque_base"),
    ),
}
"""Two rods with noisy angles and a torque that is known, an arm whose torques are noisy, too."""


@dataclass(frozen=True)
class Wrong:
    """What a model leaves out."""

    size: float
    """Of the effect [its unit]; NaN: columns are wrong."""
    shift: float
    """Shift of the parameter that is shifted most, in standard deviations [-]."""
    distance: float
    """Expected change of the score, in standard deviations: the data show it from 4 on [-]."""


def wrong(plant: str, cause: str, multiple: float) -> Wrong:
    """The size of an effect."""
    if cause in PLANTS[plant].columns:
        return Wrong(float("nan"), float("inf"), float("inf"))
    harm, deviation = _effect_of_one(plant, cause)
    return Wrong(multiple * harm, multiple, multiple * harm / deviation)


def recording(plant: str, cause: str, multiple: float, rng: np.random.Generator) -> Recording:
    """A recording with new noise; cause '': the model is right."""
    robot = PLANTS[plant]
    problem, blank = robot.problem(), _blank(robot)
    experiment, rho = problem.experiment(blank), np.array(list(robot.truth.values()))
    of_columns = cause in robot.columns
    if cause and not of_columns:
        effect = _effect(experiment, cause)
        size = wrong(plant, cause, multiple).size
        exact = effect.add_to(experiment).outputs(np.append(rho, size))
    else:
        exact = experiment.outputs(rho)
    found = replace(
        blank,
        inputs=blank.inputs + noise_of(problem.inputs, blank.inputs, rng),
        outputs=exact + noise_of(problem.channels, exact, rng),
    )
    if of_columns:
        found = next(one for one in possible_changes_of(experiment) if one.name == cause).apply(
            found
        )
    return found


def _blank(robot: Plant) -> Recording:
    time = np.arange(0.0, robot.duration + 0.5 * DT, DT)
    outputs = np.zeros((len(time), len(robot.problem().channels)))
    return Recording("run", time, robot.torque(time), outputs)


def _effect(experiment: Experiment, name: str) -> Effect:
    for one in effects_of(experiment):
        if one.name == name:
            return one
    names = ", ".join(one.name for one in effects_of(experiment))
    raise IdentificationError(f"There is no effect '{name}'. There are: {names}.")


@cache
def _effect_of_one(plant: str, cause: str) -> tuple[float, float]:
    """Size that shifts a parameter by its standard deviation, and deviation of the test."""
    robot = PLANTS[plant]
    problem = robot.problem()
    run = recording(plant, "", 0.0, np.random.default_rng(0))
    experiment = problem.experiment(run)
    found = estimate([experiment], start_at(problem.parameters, robot.truth))
    test = score(with_effect(found, [experiment], cause))
    deviations = identifiability(found, [experiment]).deviations
    return float(np.min(deviations / np.abs(test.slopes))), test.deviation
