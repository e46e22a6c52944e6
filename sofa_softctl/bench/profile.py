"""Step time of a scene by phase."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.processes import interrupted_after
from sofa_softctl.scene.session.session import Session


@dataclass(frozen=True)
class Profile:
    """Wall times of a scene's steps, compilation left out."""

    scene: str
    """The scene."""
    backend: str
    """What ran it."""
    dofs: int
    """Degrees of freedom of the independent states."""
    steps: int
    """Steps measured."""
    ms_per_step: float
    """Median [ms]."""
    ms_p95: float
    """95 of 100 steps are faster [ms]."""
    phases: dict[str, float]
    """Mean of each phase [ms]."""
    first_step_s: float
    """The first step, compilation included [s]."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def profile(session: Session, steps: int, warm_up: int = 20) -> Profile:
    """Measure a session's next steps; the first `warm_up` ones do not count.

    Ctrl-C ends it: the profile is of the steps done. Before the first that counts, it is raised.
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
    )
