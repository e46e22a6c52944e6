"""How often intervals hold the truth: estimates repeated with new noise, as often as one likes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.estimate import estimate
from sofa_softctl.identification.experiment import Channel
from sofa_softctl.identification.identifiability import identifiability
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Given, Output
from sofa_softctl.identification.parameter import Parameter, starts
from sofa_softctl.identification.recording import Recording

NOISE = 0.02
"""Standard deviation of measured angles [rad]."""
REPETITIONS = 200
"""So many that 95 % of them are 190 give or take 3."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """Repeated estimates of a small chain."""

    names: tuple[str, ...]
    """Of the parameters."""
    truth: np.ndarray
    """Shape (n_rho,)."""
    found: np.ndarray
    """Estimates, shape (n, n_rho)."""
    low: np.ndarray
    """Lower ends of their 95 % intervals, shape (n, n_rho)."""
    high: np.ndarray
    """Upper ends, shape (n, n_rho)."""

    @property
    def held(self) -> np.ndarray:
        """Share of the intervals that hold the truth [-], shape (n_rho,)."""
        inside = (self.low <= self.truth) & (self.truth <= self.high)
        share: np.ndarray = inside.mean(axis=0)
        return share

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "repetitions": len(self.found),
            "held": dict(zip(self.names, self.held.tolist(), strict=True)),
            "mean": dict(zip(self.names, self.found.mean(axis=0).tolist(), strict=True)),
            "truth": dict(zip(self.names, self.truth.tolist(), strict=True)),
        }


def chain() -> MechanismProblem:
    """Two rods let go from the side, with springs and friction; both angles are measured."""
    joints = (Joint("a", axis=(0, 1, 0)), Joint("b", "a", axis=(0, 1, 0), moved=(0, 0, -0.3)))
    rods = Mechanism(
        joints,
        [Body(one.name, 0.2, (0, 0, -0.15), 0.0075) for one in joints],
        [Spring("a", "stiffness"), Spring("b", "stiffness")],
        [Damper("a", "friction"), Damper("b", "friction")],
        parameters=(
            Parameter("stiffness", 0.5, "N m/rad"),
            Parameter("friction", 0.01, "N m s/rad"),
            Parameter("angle", 0.8, "rad", lower=-3.0),
        ),
    )
    outputs = tuple(Output(Angle(n), (Channel(n, "rad", NOISE),)) for n in ("a", "b"))
    return MechanismProblem("two rods", rods, 0.01, outputs, start=Given({"a": "angle"}))


def measure_coverage(
    path: Path, progress: Callable[[int], None] | None = None, *, repetitions: int = REPETITIONS
) -> Coverage:
    """Repeat the estimate until the file has so many, and read them all.

    Each repetition is a line of its own, with a seed of its own: after a kill, the same call goes
    on, and comes to the same numbers.

    Args:
        path: CSV file; continued if it exists.
        progress: Called after each repetition with how many there are.
        repetitions: In the file at the end.

    Raises:
        IdentificationError: The file is not one of this benchmark.
    """
    problem = chain()
    truth = starts(problem.parameters)
    names = tuple(one.name for one in problem.parameters)
    header = [f"{name} {what}" for what in ("found", "low", "high") for name in names]
    done = _rows(path, header)
    empty = Recording("clean", np.arange(0.0, 2.005, 0.01), np.zeros((201, 0)), np.zeros((201, 2)))
    exact = problem.experiment(empty).outputs(truth)
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            file.seek(0)
            file.truncate()
            writer.writerow(header)
        for seed in range(len(done), repetitions):
            noise = NOISE * np.random.default_rng(seed).standard_normal(exact.shape)
            noisy = replace(empty, name=f"noise {seed}", outputs=exact + noise)
            found = estimate([problem.experiment(noisy)])
            trust = identifiability(found)
            done.append([*found.rho, *trust.low, *trust.high])
            writer.writerow([repr(float(x)) for x in done[-1]])
            file.flush()
            if progress is not None:
                progress(len(done))
    table = np.array(done[:repetitions]).reshape(-1, 3, len(names))
    return Coverage(names, truth, table[:, 0], table[:, 1], table[:, 2])


def _rows(path: Path, header: list[str]) -> list[list[float]]:
    """Whole lines of a file; the last one may have been cut off by a kill."""
    if not path.exists() or not path.stat().st_size:
        return []
    text = path.read_text()
    lines = list(csv.reader(text.splitlines()))
    if lines[0] != header:
        raise IdentificationError(f"{path} is not a file of this benchmark: give another name.")
    whole = lines[1:] if text.endswith("\n") else lines[1:-1]
    if len(whole) + 1 < len(lines):
        path.write_text("\n".join(",".join(line) for line in [header, *whole]) + "\n")
    return [[float(x) for x in line] for line in whole]
