"""Motions and forces that are given over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.scene.channels import nodes_of
from sofa_softctl.scene.plausibility.bodies import at

LATE = 100.0
"""Last time of a motion by the time of a run from which on it hardly began [-]."""
STEPS_BETWEEN = 1e4
"""Steps between two times of a motion from which on they are in another unit, or very slow [-]."""


def late_motions(root: Any) -> Iterator[str]:
    """Name motions and forces whose times end long after a run."""
    time, dt = float(root.time.value), float(root.dt.value)
    for entry in (entry for node in nodes_of(root) for entry in node.objects):
        data = entry.findData("keyTimes") or entry.findData("times")
        if data is None or np.ndim(data.value) != 1 or len(data.value) < 2:
            continue
        times = np.sort(np.asarray(data.value, dtype=float))
        gaps = np.diff(times)
        if times[-1] > LATE * time > 0.0 and gaps.min() > STEPS_BETWEEN * dt:
            yield (
                f"{at(entry)}: its {data.getName()} end at {times[-1]:g}, and the run at "
                f"{time:.4g}: it has hardly begun. Are they in another unit than dt={dt:g}?"
            )
