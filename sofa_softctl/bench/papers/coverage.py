"""Monte-Carlo coverage of confidence intervals."""

from __future__ import annotations

import csv
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl._internal.executors.again import GOES_ON, in_order, lost_workers
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.experiment import Channel
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Spring
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Force, Given, Output
from sofa_softctl.identification.parameter import Parameter, starts
from sofa_softctl.identification.uncertainty.identifiability import identifiability

NOISE = 0.02
"""Standard deviation of measured angles [rad]."""
TORQUE_NOISE = 0.03
"""Standard deviation of the recorded torque, where inputs have noise [N m]."""
CASES = {"outputs": 0.0, "inputs too": TORQUE_NOISE}
"""Cases, and the noise of the torque in each."""
REPETITIONS = 200
"""95 % of them are 190, with a standard deviation of 3."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """Repeated estimates of a small chain."""

    case: str
    """Key of `CASES`."""
    names: tuple[str, ...]
    """Names of the parameters."""
    truth: np.ndarray
    """True parameters, shape (n_rho,)."""
    found: np.ndarray
    """Estimates, shape (n, n_rho)."""
    low: np.ndarray
    """Lower ends of their 95 % intervals, shape (n, n_rho)."""
    high: np.ndarray
    """Upper ends, shape (n, n_rho)."""

    @property
    def held(self) -> np.ndarray:
        """Share of the intervals that contain the truth [-], shape (n_rho,)."""
        inside = (self.low <= self.truth) & (self.truth <= self.high)
        share: np.ndarray = inside.mean(axis=0)
        return share

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "noise": self.case,
            "repetitions": len(self.found),
            "held": dict(zip(self.names, self.held.tolist(), strict=True)),
            "mean": dict(zip(self.names, self.found.mean(axis=0).tolist(), strict=True)),
            "truth": dict(zip(self.names, self.truth.tolist(), strict=True)),
        }


def chain(torque_noise: float = 0.0) -> MechanismProblem:
    """Two rods, released and driven, with springs and friction; angles are measured."""
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
    torque = Force("a", Channel("torque", "N m", torque_noise))
    return MechanismProblem("two rods", rods, 0.01, outputs, (torque,), start=Given({"a": "angle"}))


def measure_coverage(
    path: Path,
    progress: Callable[[int], None] | None = None,
    *,
    repetitions: int = REPETITIONS,
    executor: Executor | None = None,
) -> list[Coverage]:
    """Repeat the estimates until the file has `repetitions` of each case, and read them all.

    Each estimate is one line, with its own seed: after a kill, the same call continues, with the
    same numbers.

    Args:
        path: CSV file; continued if it exists.
        progress: Called after each estimate with the number of estimates.
        repetitions: Number of estimates of each case in the file at the end.
        executor: Makes several estimates at a time; None: one by one. The file is the same.

    Raises:
        IdentificationError: The file is not one of this benchmark.
        WorkerError: Two worker processes died with the same estimate.
    """
    names = tuple(one.name for one in chain().parameters)
    header = ["noise"] + [f"{name} {what}" for what in ("found", "low", "high") for name in names]
    done = _rows(path, header)
    with lost_workers(GOES_ON), path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            file.truncate(0)
            writer.writerow(header)
        seeds = range(len(done), repetitions * len(CASES))
        cases = [list(CASES)[k % len(CASES)] for k in seeds]
        for case, numbers in zip(cases, in_order(executor, _repeat, cases, seeds), strict=True):
            done.append([case, *map(repr, numbers)])
            writer.writerow(done[-1])
            file.flush()
            if progress is not None:
                progress(len(done))
    truth = starts(chain().parameters)
    found = []
    for case in CASES:
        rows = [row[1:] for row in done[: repetitions * len(CASES)] if row[0] == case]
        table = np.array(rows, dtype=float).reshape(-1, 3, len(names))
        found.append(Coverage(case, names, truth, table[:, 0], table[:, 1], table[:, 2]))
    return found


def _repeat(case: str, seed: int) -> list[float]:
    """One estimate from new noise: values, lower and upper ends."""
    problem, rng = chain(CASES[case]), np.random.default_rng(seed)
    time = np.arange(0.0, 2.005, 0.01)
    torque = 0.2 * np.sin(5.0 * time)[:, None]
    clean = Recording("clean", time, torque, np.zeros((len(time), 2)))
    exact = problem.experiment(clean).outputs(starts(problem.parameters))
    noisy = replace(
        clean,
        inputs=torque + CASES[case] * rng.standard_normal(torque.shape),
        outputs=exact + NOISE * rng.standard_normal(exact.shape),
    )
    experiment = problem.experiment(noisy)
    found = estimate([experiment])
    trust = identifiability(found, [experiment])
    return [float(x) for x in (*found.rho, *trust.low, *trust.high)]


def _rows(path: Path, header: list[str]) -> list[list[str]]:
    """Complete lines of a file; a kill may have truncated the last one."""
    if not path.exists() or not path.stat().st_size:
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = list(csv.reader(text.splitlines()))
    if lines[0] != header:
        raise IdentificationError(f"{path} is not a file of this benchmark: give another name.")
    whole = lines[1:] if text.endswith("\n") else lines[1:-1]
    if len(whole) + 1 < len(lines):
        path.write_text("\n".join(",".join(line) for line in [header, *whole]) + "\n")
    return whole
