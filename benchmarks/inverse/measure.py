"""Table II of the paper on inverse control with contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contact_search.corpus import measure
from benchmarks.success_rates.cases import ROBOTS
from benchmarks.success_rates.run_measures import WARM_UP, RunMeasures
from sofa_softctl.errors import SceneError
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.scene.session.run import step_count
from sofa_softctl.scene.session.session import Session

ROWS_PHASE = "constraint rows and W"
MODES = {"coulomb": "they stick or slide, the default", "sticking": "they stick, as in the paper"}
"""Ways to take contacts, and what they mean."""
EVERY = 10
"""Of the problems of a scene's steps, one in so many is kept to compare strategies on."""
FEW_CONTACTS = 8
"""Most contacts of a problem on which strategies are compared: more, and exact takes minutes."""


class PaperRow(NamedTuple):
    """One line of Table II of Coevoet, Escande, Duriez 2019."""

    name: str
    """The example."""
    robot: str
    """Ours, a key of `ROBOTS`."""
    contacts: float
    """Mean number of contact variables, three a contact."""
    dofs: str
    """Degrees of freedom."""
    ms_w: float
    """Time for W [ms]."""
    ms_qp: float
    """Time for the sequence of QPs [ms]."""


TABLE_2 = (
    PaperRow("Circular", "ring", 9, "2238", 7.91, 0.21),
    PaperRow("Spherical", "ball", 39, "3003", 79.56, 10.67),
    PaperRow("Trunk (GPU)", "cup", 81, "2127, 3765", 76.53, 35.47),
    PaperRow("Fingers", "fingers", 12, "1335, 9", 2.87, 0.98),
)


@dataclass(frozen=True)
class Measured:
    """The same line, measured here in one of the `MODES`."""

    paper: PaperRow
    """What the paper says."""
    mode: str
    """How contacts were taken: a key of `MODES`."""
    contacts: float
    """Mean number of contact variables."""
    dofs: int
    """Degrees of freedom."""
    ms_w: float
    """CPU time for the rows and W, mean [ms]."""
    ms_qp: float
    """CPU time to build, solve and check the QPs of a step, mean [ms]."""
    qp_median: float
    """Its median [ms]."""
    qp_p99: float
    """99 % of the steps are faster [ms]."""
    qp_worst: float
    """The slowest step [ms]."""
    ms_step: float
    """CPU time of a whole step, median [ms]."""
    errors: dict[str, float]
    """See `RunMeasures.errors` [length, degree]."""
    angle_in_plane: float
    """Mean angle in the plane of the goals' motion, as the paper measures it [degree]."""
    law_error: float
    """Largest distance of a contact from its law in any step [-]."""
    steps: int
    """Steps measured."""
    problems: list[InverseProblem] = field(default_factory=list, repr=False)
    """Problems with contacts that were kept."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the problems; null where there is no error."""
        found = {k: v for k, v in asdict(self).items() if k != "problems"}
        errors = {name: _known(value) for name, value in self.errors.items()}
        plane = _known(self.angle_in_plane)
        return found | {"paper": self.paper._asdict(), "errors": errors, "angle_in_plane": plane}


def measure_row(
    folder: Path,
    row: PaperRow,
    steps: int | None = None,
    on_step: Callable[[int, int], None] | None = None,
    *,
    mode: str = "coulomb",
) -> Measured:
    """Run a scene and fill in its line of Table II.

    Args:
        folder: Where the scenes are.
        row: The paper's line.
        steps: Steps to measure, after `WARM_UP` others; None: the scene's whole motion.
        on_step: Called after each step with the number of steps done, and of all.
        mode: 'coulomb', or 'sticking' as in the paper.

    Raises:
        SceneError: The scene has no DURATION, and no steps are given.
    """
    robot = ROBOTS[row.robot]
    session = Session(folder / robot.scene, parameters={"contacts": mode})
    if steps is None and session.duration is None:
        raise SceneError(f"'{session.name}' has no DURATION: say how many steps to measure.")
    total = step_count(session, steps and WARM_UP + steps, None, session.duration or 0.0)
    run = RunMeasures(session, robot.place, robot.turn, robot.begin)
    controller, before = run.controller, {ROWS_PHASE: 0.0}
    problems: list[InverseProblem] = []
    for done in range(1, total + 1):
        run.step()
        if done == WARM_UP:
            before = session.phases()
        if done > WARM_UP and done % EVERY == 0 and controller.problem.contacts is not None:
            problems.append(controller.problem)
        if on_step is not None:
            on_step(done, total)
    solutions = run.solutions[WARM_UP:]
    return Measured(
        paper=row,
        mode=mode,
        contacts=float(np.mean([len(one.contact_force) for one in solutions])),
        dofs=session.dof_count(),
        ms_w=1e3 * (session.phases()[ROWS_PHASE] - before[ROWS_PHASE]) / len(solutions),
        ms_qp=float(np.mean(run.qp_ms)),
        qp_median=float(np.median(run.qp_ms)),
        qp_p99=float(np.quantile(run.qp_ms, 0.99)),
        qp_worst=float(np.max(run.qp_ms)),
        ms_step=float(np.median(run.step_ms)),
        errors=run.errors(),
        angle_in_plane=run.angle_in_plane(),
        law_error=float(np.max([one.law_error for one in solutions])),
        steps=len(solutions),
        problems=problems,
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


STRATEGIES = {
    "pivoting, as in the paper": SearchOptions("pivoting", flips=0, warm_flips=0),
    "pivoting": SearchOptions("pivoting"),
    "exact, 300 nodes": SearchOptions("exact", nodes=300),
}
"""Searches that are compared with the exact one."""


def compare_strategies(problems: Iterable[InverseProblem]) -> dict[str, dict[str, float]]:
    """Gaps and times of the strategies, from cold starts, on the problems with few contacts."""
    few = [p for p in problems if p.contacts is not None and p.contacts.n_c <= FEW_CONTACTS]
    return {name: measure(few, search) for name, search in STRATEGIES.items()} if few else {}
