"""The pick-and-place study of the library paper: energy saved by springs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from scenes.elastic_arm.problem import STIFFNESS
from scenes.elastic_arm.tasks import GROUND, Goal, Ground, Posture, goals, pick_and_place
from sofa_softctl.base.executors.retry import raise_worker_error, submit_again
from sofa_softctl.library.ocp.problem import Motion

PAPER = {"rigid": 0.184, "variable": 0.127, "constant": 0.137}
"""Mean cost of each actuation [(N m)^2]. Source: Marcucci et al., section 2."""
PAPER_SAVED = {"variable": 0.310, "constant": 0.258}
"""What springs save [-]; with its rounded costs the last would be 25.5 %."""
ORDER = ("rigid", "variable", "constant", "beside", "own")
"""Of the chains."""
SHOWN = 6
"""Motions that are kept for plots: the first three tasks."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A motion among others: where it starts, and where it should end."""

    turned: float
    """q_1 at its start, from the middle between the sides [rad]; the motion's own starts at 0."""
    goal: Goal
    """Where the tip goes."""
    motion: Motion
    """Inputs and states."""


@dataclass(frozen=True, eq=False)
class Chain:
    """All motions of one actuation, each from where the one before ended."""

    cost: np.ndarray
    """J* of each [(N m)^2], nan where there is no motion, shape (2 objects,)."""
    stiffness: np.ndarray
    """Of both springs during each [N m / rad], nan if rigid or no motion, shape (2 objects, 2)."""
    speed: np.ndarray
    """Largest speed of a motor [rad / s], nan where there is no motion, shape (2 objects,)."""
    seconds: np.ndarray
    """Time to solve each [s], shape (2 objects,)."""
    starts: list[Posture]
    """Where the arm stands before each."""
    first: list[Placed]
    """The first motions, for plots."""

    @property
    def failures(self) -> int:
        """Motions that the solver did not find; the arm waits for the next goal then."""
        return int(np.isnan(self.cost).sum())


@dataclass(frozen=True, eq=False)
class Energy:
    """The paper's study of section 2."""

    objects: int
    """n_o."""
    seed: int
    """Of all positions and masses."""
    ground: Ground
    """Where objects lie, which the paper does not say."""
    horizon: float
    """Of each motion [s]."""
    chains: dict[str, Chain]
    """Rigid (R), variable (VS) and constant stiffness (CS: the paper's). Then two that are ours.
    beside: variable, but each motion from where that of CS starts, so that nothing is gained from
    springs that get stiffer or softer between motions while they are wound. own: constant, with the
    mean stiffness of beside."""
    seconds: float
    """Time that all took [s]."""

    @property
    def solved(self) -> np.ndarray:
        """Motions found with all three of the paper: only these count, shape (2 objects,)."""
        return np.all([np.isfinite(self.chains[name].cost) for name in PAPER], axis=0)

    @property
    def cost(self) -> dict[str, float]:
        """Mean J* of each actuation [(N m)^2]; nan for one of ours that does not get everywhere.

        An arm that waits where it is has short ways later on, and its mean would say nothing.
        """
        return {name: float(one.cost[self.solved].mean()) for name, one in self.chains.items()}

    @property
    def saved(self) -> dict[str, float]:
        """Share of the rigid arm's cost that springs save [-]."""
        cost = self.cost
        return {name: 1.0 - cost[name] / cost["rigid"] for name in cost if name != "rigid"}

    @property
    def stiffness(self) -> dict[str, list[float]]:
        """Mean of the best ones, over the motions of VS and of beside [N m / rad]."""
        return {
            name: np.nanmean(self.chains[name].stiffness, axis=0).tolist()
            for name in ("variable", "beside")
        }

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        saved = self.saved
        rows = {
            name: {
                "cost": _or_none(cost),
                "saved": _or_none(saved.get(name)),
                "paper": PAPER.get(name),
                "paper_saved": PAPER_SAVED.get(name),
                "failures": self.chains[name].failures,
                "at_speed_limit": at_limit(self.chains[name]),
                "median": _or_none(float(np.median(self.chains[name].cost[self.solved]))),
                "seconds_each": float(self.chains[name].seconds.mean()),
            }
            for name, cost in self.cost.items()
        }
        return {
            "objects": self.objects,
            "seed": self.seed,
            "ground": vars(self.ground),
            "horizon": self.horizon,
            "actuation": rows,
            "stiffness": self.stiffness,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False)
class EnergyStudy:
    """The study with several seeds."""

    seeds: Sequence[Energy]
    """Of each seed."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"seeds": [each.to_dict() for each in self.seeds]}


def _or_none(value: float | None) -> float | None:
    """JSON knows no nan."""
    return None if value is None or np.isnan(value) else value


def at_limit(chain: Chain, share: float = 0.999) -> float:
    """Share of the motions in which a motor is as fast as it may be [-]."""
    from scenes.elastic_arm.problem import SPEED

    return float(np.mean(chain.speed[np.isfinite(chain.speed)] > share * SPEED))


def measure_energies(
    progress: Callable[[str], None] | None = None, *, seeds: int = 5, **options: Any
) -> EnergyStudy:
    """Solve all problems of the study for each seed, from 0; see `measure_energy`."""
    found = []
    for seed in range(seeds):
        prefix = f"seed {seed}, "
        report = None if progress is None else (lambda line, p=prefix, to=progress: to(p + line))
        found.append(measure_energy(report, seed=seed, **options))
    return EnergyStudy(found)


def measure_energy(
    progress: Callable[[str], None] | None = None,
    *,
    objects: int = 100,
    seed: int = 0,
    executor: Executor | None = None,
    ground: Ground = GROUND,
    horizon: float = 2.0,
    compiled: bool = False,
) -> Energy:
    """Solve all problems of the study, the chains of the actuations at the same time.

    Args:
        progress: Called with a line of text when a chain is done.
        objects: How many are moved; each actuation solves twice as many problems.
        seed: Of positions and masses.
        executor: Solves chains at the same time; None: one after the other, here.
        ground: Where objects lie.
        horizon: Of each motion [s].
        compiled: Whether to compile the programs first: motions then take a sixth of the time.

    Raises:
        SoftctlError: CasADi is not installed, or with `compiled` there is no C compiler.
        WorkerError: Two worker processes died with the same chain.
    """
    from sofa_softctl.library.ocp.formulas import casadi

    casadi()  # in this process, before others are started for it
    begin, report = perf_counter(), progress or (lambda line: None)
    start, wanted = goals(seed, objects, ground)
    chains: dict[str, Chain] = {}

    def take(name: str, chain: Chain) -> None:
        chains[name] = chain
        report(f"{name}: {len(wanted)} motions, {chain.failures} without a solution")

    def solve_all(asked: dict[str, tuple[Any, ...]]) -> None:
        if executor is None:
            for name, given in asked.items():
                take(name, solve_chain(*given))
            return
        futures = {
            submit_again(executor, solve_chain, *given): name for name, given in asked.items()
        }
        for future in as_completed(futures):
            take(futures[future], future.result())

    with raise_worker_error("Start again, perhaps with fewer workers."):
        names = ("variable", "constant", "rigid")
        asked: dict[str, tuple[Any, ...]] = {
            name: (name, STIFFNESS, start, wanted, horizon, compiled) for name in names
        }
        solve_all(asked)
        solve_all({"beside": (*asked["variable"], chains["constant"].starts)})
        own = np.nanmean(chains["beside"].stiffness, axis=0).tolist()
        solve_all({"own": ("constant", own, *asked["constant"][2:])})
    ordered = {name: chains[name] for name in ORDER}
    return Energy(objects, seed, ground, horizon, ordered, perf_counter() - begin)


@cache
def _program(actuation: str, stiffness: Sequence[float], horizon: float, compiled: bool) -> Any:
    """The same for all seeds, so that a process compiles it once."""
    from benchmarks.compiled import CompiledProgram
    from sofa_softctl.library.ocp.shooting import Program

    problem = pick_and_place(actuation, stiffness=stiffness, horizon=horizon)
    return CompiledProgram(problem) if compiled else Program(problem)


def solve_chain(
    actuation: str,
    stiffness: Sequence[float],
    start: Posture,
    wanted: list[Goal],
    horizon: float = 2.0,
    compiled: bool = False,
    starts: Sequence[Posture] | None = None,
) -> Chain:
    """One goal after the other. Where there is no motion to one, the arm stays for the next.

    With `starts`, each motion starts there instead of where the one before ended.
    """
    program = _program(actuation, tuple(stiffness), horizon, compiled)
    springs = {"rigid": [np.nan, np.nan], "constant": list(stiffness)}
    cost, speed, used = (
        np.full(shape, np.nan) for shape in (len(wanted), len(wanted), (len(wanted), 2))
    )
    seconds, first, stood = np.zeros(len(wanted)), [], []
    for k, goal in enumerate(wanted):
        start = start if starts is None else starts[k]
        stood.append(start)
        optimum = program.solve(start.parameters_to(goal))
        seconds[k] = optimum.seconds
        if not optimum.status.ok:
            continue
        motion = program.motion(optimum.v)
        cost[k], used[k] = optimum.cost, springs.get(actuation, motion.z)
        speed[k] = np.abs(motion.x[:, -2:]).max()  # dq of the rigid arm, dtheta with springs
        if k < SHOWN:
            first.append(Placed(start.q[0], goal, motion))
        start = start.posture_after(motion.x[-1])
    return Chain(cost, used, speed, seconds, stood, first)
