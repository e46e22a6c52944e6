"""Cases of `python -m benchmarks.success_rates`: starts, goals and properties of each robot.

All runs of a robot have one set of weights and defaults, those of its scene. The lists are fixed;
a change of one belongs into the changelog with the figures before and after.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SoftctlError

SHAPES = range(1, 11)
"""Seeds of the perturbed rest shapes; 0 is the shape as it is."""


class Case(NamedTuple):
    """One run."""

    robot: str
    """A key of `ROBOTS`."""
    parameters: dict[str, Any]
    """Of the scene, where they are not its defaults."""
    seed: int = 0
    """Of the perturbation of the rest shape, see `perturbation`; 0: none."""
    steps: int | None = None
    """Only so many first steps; None: the whole run."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Robot, parameters as JSON ('steps' among them if they are fewer), and seed."""
        shorter = {} if self.steps is None else {"steps": self.steps}
        return self.robot, json.dumps(self.parameters | shorter, sort_keys=True), str(self.seed)


@dataclass(frozen=True)
class Robot:
    """One scene, what of it is measured, and what counts as success."""

    scene: str
    """Scene file."""
    cases: Callable[[], list[tuple[dict[str, Any], int]]]
    """Parameters and seed of every run."""
    limits: Mapping[str, float]
    """Largest value of each column that makes a run a success [length, degree]."""
    place: Sequence[int] | None = None
    """Effectors whose mean is the position; None: all."""
    turn: Sequence[int] | None = None
    """Effectors that the angle is fitted to; None: all."""
    begin: float = 0.0
    """When the goal begins to move: errors count from then on [time]."""
    duration: Callable[[Mapping[str, Any]], float] | None = None
    """Simulated time by the parameters [time]; None: the scene's DURATION."""
    note: str = field(default="", kw_only=True)
    """Where the limits are from."""


def _ring() -> list[tuple[dict[str, Any], int]]:
    """18 start angles, three frictions, both directions, 60 mm each."""
    return [
        ({"start": 2.5 * k, "friction": mu, "speed": speed, "distance": 60.0}, 0)
        for mu in (0.4, 0.6, 0.9)
        for speed in (20.0, -20.0)
        for k in range(18)
    ]


def _ball() -> list[tuple[dict[str, Any], int]]:
    """20 and 40 mm forwards and backwards, 40 mm on both diagonals, ten rest shapes each."""
    goals = [(20.0, 0.0), (20.0, 180.0), (40.0, 0.0), (40.0, 180.0), (40.0, 45.0), (40.0, 135.0)]
    return [
        ({"target": target, "heading": heading}, seed)
        for target, heading in goals
        for seed in SHAPES
    ]


def _cup() -> list[tuple[dict[str, Any], int]]:
    """Default, and one thing changed at a time: friction, mass, moduli, start, goal."""
    changes: list[dict[str, Any]] = [
        *({"friction": mu} for mu in (0.0, 0.5, 0.7, 1.1)),
        *({"cup_mass": mass} for mass in (0.012, 0.020)),
        *({"trunk_modulus": modulus} for modulus in (2340.0, 2860.0)),
        *({"cup_modulus": modulus} for modulus in (4000.0, 6000.0)),
        *({"start": start} for start in _aside(1.0)),
        *({"tilt": tilt} for tilt in (30.0, 40.0, 50.0)),
        *({"period": period} for period in (3.0, 6.0)),
        *({"tilt": 0.0, "shift": [0.0, 0.0, side]} for side in (20.0, -20.0)),
        {"tilt": 0.0, "shift": [0.0, 30.0, 0.0]},
    ]
    return _nominal() + [(change, 0) for change in changes]


def _fingers() -> list[tuple[dict[str, Any], int]]:
    """Default, and one thing changed at a time: friction, mass, modulus, start, goal."""
    changes: list[dict[str, Any]] = [
        *({"friction": mu} for mu in (0.5, 0.6, 0.7, 1.0)),
        *({"mass": mass} for mass in (0.0123, 0.0185)),
        *({"young_modulus": modulus} for modulus in (80.0, 90.0, 110.0, 120.0)),
        *({"start": start} for start in _aside(1.0)),
        *({"lift": lift} for lift in (10.0, 20.0)),
        *({"bend": bend} for bend in (3.0, 9.0)),
        *({"turn": turn} for turn in (-8.0, 0.0, 12.0)),
    ]
    return _nominal() + [(change, 0) for change in changes]


def _pushing() -> list[tuple[dict[str, Any], int]]:
    """Six frictions of the floor: alone, the same at the fingers, and from a start aside."""
    mus = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    changes: list[dict[str, Any]] = [
        *({"friction": mu} for mu in mus),
        *({"friction": mu, "finger_friction": mu} for mu in mus),
        *({"friction": mu, "aside": 2.0, "askew": 3.0} for mu in mus),
    ]
    return [(change, 0) for change in changes]


def _gripper() -> list[tuple[dict[str, Any], int]]:
    """Default, and one thing changed at a time: friction, mass, modulus, grip, goal."""
    changes: list[dict[str, Any]] = [
        *({"friction": mu} for mu in (0.6, 0.7, 1.0)),
        *({"mass": mass} for mass in (0.024, 0.036)),
        *({"young_modulus": modulus} for modulus in (4000.0, 6000.0)),
        *({"grip": grip} for grip in (600.0, 900.0)),
        *({"lift": lift} for lift in (30.0, 60.0)),
        *({"carry": carry} for carry in (40.0, 80.0)),
    ]
    return _nominal() + [(change, 0) for change in changes]


def _nominal() -> list[tuple[dict[str, Any], int]]:
    """The scene as it is, with its own rest shape and four that rounding could have made."""
    return [({}, seed) for seed in range(5)]


def _aside(length: float) -> list[list[float]]:
    """Starts off their place by a length, both ways along x and z."""
    return [[length, 0.0, 0.0], [-length, 0.0, 0.0], [0.0, 0.0, length], [0.0, 0.0, -length]]


ROBOTS = {
    "ring": Robot(
        "rolling_ring.py",
        _ring,
        {"position end": 2.0},
        turn=(),
        begin=0.35,
        duration=lambda given: 0.3 + given["distance"] / abs(given["speed"]) + 0.5,
        note="our claim; the paper gives no number",
    ),
    "ball": Robot(
        "rolling_ball.py",
        _ball,
        {"position end": 3.0},
        place=(0,),
        begin=0.4,
        duration=lambda given: 0.4 + given["target"] / 10.0 + 3.0,
        note="our claim; the paper gives no number",
    ),
    "cup": Robot(
        "trunk_cup.py",
        _cup,
        {"position mean": 1.34, "angle mean": 2.21},
        begin=0.9,
        duration=lambda given: 1.0 + given.get("period", 4.0),
        note="the paper's means, Table I; its angle is in a plane, ours about any axis",
    ),
    "fingers": Robot(
        "three_fingers.py",
        _fingers,
        {"point end": 0.6},
        begin=0.4,
        note="our claim; the paper gives no number",
    ),
    "pushing": Robot(
        "pushing.py",
        _pushing,
        {"position end": 0.5, "angle end": 2.0},
        place=range(3),
        turn=range(3),
        begin=0.3,
        note="our claim; not in the paper",
    ),
    "gripper": Robot(
        "gripper.py",
        _gripper,
        {"point worst": 2.0, "point end": 0.5},
        place=range(4),
        turn=range(4),
        begin=0.7,
        note="our claim; not in the paper",
    ),
}
"""The robots by the name that `--only` takes."""


def cases_of(
    names: Sequence[str] = (), sample: int | None = None, steps: int | None = None
) -> list[Case]:
    """The runs of some robots.

    Args:
        names: Keys of `ROBOTS`; empty: all.
        sample: So many of each robot, evenly spread over its list; None: all.
        steps: Only so many first steps of each; None: whole runs.

    Raises:
        SoftctlError: There is no robot of that name.
    """
    unknown = [name for name in names if name not in ROBOTS]
    if unknown:
        raise SoftctlError(
            f"There is no robot '{unknown[0]}' to measure; there are {', '.join(ROBOTS)}."
        )
    found = []
    for name in names or ROBOTS:
        listed = [Case(name, parameters, seed, steps) for parameters, seed in ROBOTS[name].cases()]
        count = len(listed) if sample is None else min(sample, len(listed))
        found += [listed[k] for k in np.linspace(0, len(listed) - 1, count).round().astype(int)]
    return found
