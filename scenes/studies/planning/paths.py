"""Plans of random paths, and what the full robot makes of them: function of paths.toml."""

import os

import numpy as np

from sofa_softctl.surrogate.correction import accepted
from sofa_softctl.surrogate.plan_scene import prepare_scene

SCENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "many_lines.py")
STEP = 0.01


def plan(lines, seed, size, duration, young_modulus):
    """Plan one path and replay it.

    Returns the errors of the first plan and of the corrected one on the full robot [mm], the
    largest tension over the allowed one, and the counts.
    """
    with prepare_scene(
        SCENE,
        "wander",
        instants=round(duration / STEP),
        parameters={"lines": int(lines), "young_modulus": young_modulus, "dt": STEP},
        task_parameters={"seed": int(seed), "size": size},
    ) as ready:
        raw = ready.plan()
        first, found = accepted(raw, corrections=0), accepted(raw)
    errors = [np.nan if r.report is None else r.report.criteria[0].value for r in (first, found)]
    return {
        "plan": found.status.name,
        "followed": found.status.executable,
        "first_error": errors[0],
        "error": errors[1],
        "corrections": found.corrections,
        "missed": found.plan.miss,
        "tension": float(found.plan.u.max()),
        "flutter": found.flutter,
        "equilibria": found.robot.evaluations,
        "message": found.message,
    }
