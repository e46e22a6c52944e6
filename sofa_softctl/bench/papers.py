"""The papers' own tables, measured here: Table II of the inverse control through contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.inverse.corpus import measure
from sofa_softctl.inverse.problem import InverseProblem
from sofa_softctl.inverse.search import Search
from sofa_softctl.scene.session import Session

ROWS_PHASE = "constraint rows and W"
WARM_UP = 20
"""Steps that do not count: kernels are compiled, and bodies come to rest on each other."""
EVERY = 10
"""Of the problems of a scene's steps, one in so many is kept to compare strategies on."""
FEW_CONTACTS = 8
"""Most contacts of a problem on which strategies are compared: more, and exact takes minutes."""


class PaperRow(NamedTuple):
    """One line of Table II of Coevoet, Escande, Duriez 2019."""

    name: str
    """The example."""
    scene: str
    """Our scene file."""
    contacts: float
    """Mean number of contact variables, three a contact."""
    dofs: str
    """Degrees of freedom."""
    ms_w: float
    """Time for W [ms]."""
    ms_qp: float
    """Time for the sequence of QPs [ms]."""


TABLE_2 = (
    PaperRow("Circular", "rolling_ring.py", 9, "2238", 7.91, 0.21),
    PaperRow("Spherical", "rolling_ball.py", 39, "3003", 79.56, 10.67),
    PaperRow("Trunk (GPU)", "trunk_cup.py", 81, "2127, 3765", 76.53, 35.47),
    PaperRow("Fingers", "three_fingers.py", 12, "1335, 9", 2.87, 0.98),
)


@dataclass(frozen=True)
class Measured:
    """The same line, measured here."""

    paper: PaperRow
    """What the paper says."""
    contacts: float
    """Mean number of contact variables."""
    dofs: int
    """Degrees of freedom."""
    ms_w: float
    """Mean time for the rows and W [ms]."""
    ms_qp: float
    """Mean time to build, solve and check the QPs [ms]."""
    ms_step: float
    """Median time of a whole step [ms]."""
    law_error: float
    """Largest distance of a contact from its law in any step [-]."""
    steps: int
    """Steps measured."""
    problems: list[InverseProblem] = field(default_factory=list, repr=False)
    """Problems with contacts that were kept."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the problems."""
        return {k: v for k, v in asdict(self).items() if k != "problems"} | {
            "paper": self.paper._asdict()
        }


def measure_row(
    folder: Path,
    row: PaperRow,
    steps: int,
    on_step: Callable[[int], None] | None = None,
    *,
    contacts: str = "sticking",
) -> Measured:
    """Run a scene for some steps and fill in its line of Table II.

    Args:
        folder: Where the scenes are.
        row: The paper's line.
        steps: Steps to measure, after `WARM_UP` others.
        on_step: Called after each step with the number of steps done.
        contacts: 'sticking', as in the paper, or 'coulomb'.
    """
    session = Session(folder / row.scene, parameters={"contacts": contacts})
    session.step(WARM_UP)
    before = session.phases()
    controller: Any = next(
        entry for entry in session.controllers if entry.getClassName() == "InverseController"
    )
    rows, qps, errors, whole = [], [], [], []
    problems: list[InverseProblem] = []
    for done in range(1, steps + 1):
        start = perf_counter()
        session.step()
        whole.append(perf_counter() - start)
        solution = controller.solution
        rows.append(len(solution.contact_force))
        qps.append(solution.build_time + solution.solve_time)
        errors.append(solution.law_error)
        if controller.problem.contacts is not None and done % EVERY == 0:
            problems.append(controller.problem)
        if on_step is not None:
            on_step(done)
    return Measured(
        paper=row,
        contacts=float(np.mean(rows)),
        dofs=session.dof_count(),
        ms_w=1e3 * (session.phases()[ROWS_PHASE] - before[ROWS_PHASE]) / steps,
        ms_qp=1e3 * float(np.mean(qps)),
        ms_step=1e3 * float(np.median(whole)),
        law_error=float(np.max(errors)),
        steps=steps,
        problems=problems,
    )


STRATEGIES = {
    "pivoting, as in the paper": Search("pivoting", flips=0, warm_flips=0),
    "pivoting": Search("pivoting"),
    "exact, 300 nodes": Search("exact", nodes=300),
}
"""Searches that are compared with the exact one."""


def compare_strategies(problems: Iterable[InverseProblem]) -> dict[str, dict[str, float]]:
    """Gaps and times of the strategies, from cold starts, on the problems with few contacts."""
    few = [p for p in problems if p.contacts is not None and p.contacts.n_c <= FEW_CONTACTS]
    return {name: measure(few, search) for name, search in STRATEGIES.items()} if few else {}
