"""Step time of a scene by phase."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.processes import interrupted_after
from sofa_softctl.bench.speed import python_share
from sofa_softctl.scene.session.session import Session


@dataclass(frozen=True)
class Profile:
    """Wall times of a scene's steps, without compilation."""

    scene: str
    """Name of the scene."""
    backend: str
    """Description of the backend."""
    dofs: int
    """Degrees of freedom of the independent states."""
    steps: int
    """Number of measured steps."""
    ms_per_step: float
    """Median time of a step [ms]."""
    ms_p95: float
    """95th percentile of the time of a step [ms]."""
    phases: dict[str, float]
    """Mean time of each phase [ms]."""
    first_step_s: float
    """Time of the first step, with compilation [s]."""
    python_share: float | None = None
    """Part of a step's wall time outside of compiled kernels [-]; None in SOFA."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)


def profile(session: Session, steps: int, warm_up: int = 20) -> Profile:
    """Measure a session's next steps, after `warm_up` steps that do not count.

    Ctrl-C ends the measurement, and is raised before the first step that counts.
    """
    start = perf_counter()
    session.step()
    first = perf_counter() - start
    session.step(warm_up)
    before = session.phases()
    seconds: list[float] = []
    try:
        while len(seconds) < steps:
            with interrupted_after():
                start = perf_counter()
                session.step()
                seconds.append(perf_counter() - start)
    except KeyboardInterrupt:
        if not seconds:
            raise
    steps = len(seconds)
    phases = {
        name: 1e3 * (value - before.get(name, 0.0)) / steps
        for name, value in session.phases().items()
    }
    return Profile(
        scene=session.name,
        backend=session.backend.describe(),
        dofs=session.dof_count(),
        steps=steps,
        ms_per_step=1e3 * float(np.median(seconds)),
        ms_p95=1e3 * float(np.percentile(seconds, 95)),
        phases=phases,
        first_step_s=first,
        python_share=python_share(session) if session.backend.name == "embedded" else None,
    )
