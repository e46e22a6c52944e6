"""The papers' own tables, measured here: contact variables, degrees of freedom, times of a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.scene.session import Session

ROWS_PHASE = "constraint rows and W"
WARM_UP = 20
"""Steps that do not count: kernels are compiled, and bodies come to rest on each other."""


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
    """Mean time for the rows and W, and for nothing else [ms]."""
    ms_qp: float
    """Median time to build, solve and check the QPs [ms]."""
    ms_step: float
    """Median time of a whole step [ms]."""
    gap: float
    """Mean optimality gap of the answers that have a bound [-]; nan if none has."""
    law_error: float
    """Largest distance of a contact from its law in any step [-]."""
    steps: int
    """Steps measured."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure(
    scene: Path, row: PaperRow, steps: int, on_step: Callable[[int], None] | None = None
) -> Measured:
    """Run a scene for some steps and fill in its line of Table II.

    Args:
        scene: The scene file.
        row: The paper's line.
        steps: Steps to measure, after `WARM_UP` others.
        on_step: Called after each step with the number of steps done.
    """
    session = Session(scene)
    session.step(WARM_UP)
    before = session.phases()
    controller: Any = next(
        entry for entry in session.controllers if entry.getClassName() == "InverseController"
    )
    rows, times, gaps, errors, whole = [], [], [], [], []
    for done in range(1, steps + 1):
        start = perf_counter()
        session.step()
        whole.append(perf_counter() - start)
        solution = controller.solution
        rows.append(len(solution.contact_force))
        times.append(solution.build_time + solution.solve_time)
        errors.append(solution.law_error)
        if np.isfinite(solution.gap):
            gaps.append(solution.gap)
        if on_step is not None:
            on_step(done)
    phases = session.phases()
    return Measured(
        paper=row,
        contacts=float(np.mean(rows)),
        dofs=session.dof_count(),
        ms_w=1e3 * (phases[ROWS_PHASE] - before[ROWS_PHASE]) / steps,
        ms_qp=1e3 * float(np.median(times)),
        ms_step=1e3 * float(np.median(whole)),
        gap=float(np.mean(gaps)) if gaps else float("nan"),
        law_error=float(np.max(errors)),
        steps=steps,
    )
