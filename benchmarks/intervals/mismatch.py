"""Cases of the coverage study whose data come from a finer model than the one that is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.intervals.cases import LOOP, Case
from scenes.flexible_loop.problem import LoopProblem
from scenes.flexible_loop.recording import Noise, record
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Force, GivenStart, Output
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import load_problem
from sofa_softctl.identification.model.recording import Recording
from tests.support.chains import CHAIN, chain, driven, one_torque

FINER = 8
"""Steps of the model that makes the data, in one of the model that is fitted."""
SCENE = "scenes/finger_identification.py:finger"
"""The FEM finger, from the folder of this repository."""
FINGER = {"base": 500.0, "middle": 600.0, "tip": 700.0}
"""Young's moduli of its data [kPa]."""
STIFF = {"k1": 4.0, "k2": 4.0, "friction": 0.01}


def stiff_chain() -> MechanismProblem:
    """The chain of two rods with stiffer springs, each with a stiffness of its own, 10 ms a step.

    Its faster mode has 16 steps a period: the midpoint rule makes it 1.2 % too slow.
    """
    joints = (Joint("a", axis=(0, 1, 0)), Joint("b", "a", axis=(0, 1, 0), moved=(0, 0, -0.3)))
    rods = Mechanism(
        joints,
        [Body(one.name, 0.2, (0, 0, -0.15), 0.0075) for one in joints],
        [Spring("a", "k1"), Spring("b", "k2")],
        [Damper("a", "friction"), Damper("b", "friction")],
        parameters=(
            Parameter("k1", 4.0, "N m/rad"),
            Parameter("k2", 4.0, "N m/rad"),
            Parameter("friction", 0.01, "N m s/rad"),
        ),
    )
    outputs = tuple(Output(Angle(n), (Channel(n, "rad", 0.02),)) for n in ("a", "b"))
    torque = Force("a", Channel("torque", "N m", 0.0))
    start = GivenStart({"a": 0.4, "b": -0.4})
    return MechanismProblem("two stiff rods", rods, 0.01, outputs, (torque,), start=start)


def _finer_steps(
    problem: MechanismProblem, rng: np.random.Generator, *, truth: Mapping[str, float]
) -> Recording:
    """A run of the same mechanism with steps of 1.25 ms."""
    finer = replace(problem, dt=0.01 / FINER)
    return driven(finer, rng, truth=truth, torque=one_torque, duration=2.0)


def _more_links(
    problem: LoopProblem, rng: np.random.Generator, *, truth: Mapping[str, float]
) -> Recording:
    """A loop of twice the links, without friction."""
    stiffness, seed = tuple(truth.values()), int(rng.integers(2**31))
    return record(
        links=2 * problem.links,
        stiffness=(stiffness[0], stiffness[1]),
        friction=0.0,
        noise=Noise(),
        seed=seed,
    )


def _markers(problem: Any, rng: np.random.Generator, *, split: int) -> Recording:
    """A run of the finger, its tetrahedra split, with noise of its markers."""
    blank, exact = _finger_run(split)
    noise = np.array([one.deviation for one in problem.channels])
    return replace(blank, outputs=exact + noise * rng.standard_normal(exact.shape))


@cache
def _finger_run(split: int) -> tuple[Recording, np.ndarray]:
    """The pulls of the scene for 2 s, and what the markers show without noise."""
    problem = replace(load_problem(SCENE), split=split, register_by=())  # type: ignore[type-var]
    time = np.arange(0.0, 2.005, 0.01)
    pull = np.where(time < 1.0, 300.0, 450.0) * np.sin(np.pi * time) ** 2
    missing = np.full((len(time), len(problem.channels)), np.nan)
    blank = Recording("finger", time, pull[:, None], missing)
    rho = np.array([FINGER.get(one.name, 0.0) for one in problem.parameters])
    return blank, problem.experiment(blank).outputs(rho)


def _coarse_chain() -> MechanismProblem:
    return replace(chain(), dt=0.04)


MISMATCHED = {
    "finger": Case(partial(load_problem, SCENE), FINGER, partial(_markers, split=0)),
    "step of 10 ms": Case(stiff_chain, STIFF, partial(_finer_steps, truth=STIFF), budget=True),
    "step of 40 ms": Case(_coarse_chain, CHAIN, partial(_finer_steps, truth=CHAIN), budget=True),
    "links": Case(partial(LoopProblem, 6), LOOP, partial(_more_links, truth=LOOP), budget=True),
    "split mesh": Case(
        partial(load_problem, SCENE), FINGER, partial(_markers, split=1), budget=True
    ),
}
"""The FEM finger; then data from finer steps, twice the links, tetrahedra split in eight."""
