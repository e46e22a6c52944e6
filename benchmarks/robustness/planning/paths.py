"""Plans of random paths, and what the full robot makes of them: for paths.toml and fast.toml."""

from pathlib import Path

import numpy as np

from sofa_softctl.surrogate.scene.correction import correct_until_accepted
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene

SCENE = str(Path(__file__).parents[3] / "scenes" / "many_lines.py")
STEP = 0.01


def plan(lines, seed, size, duration, young_modulus):
    """Plan one path and replay it.

    Returns the errors on the full robot of the first plan, of the best one corrected by offsets
    alone, and of the corrected one [mm], the largest tension over the allowed one, and the counts.
    """
    with prepare_scene(
        SCENE,
        "wander",
        instants=round(duration / STEP),
        parameters={"lines": int(lines), "young_modulus": young_modulus, "dt": STEP},
        task_parameters={"seed": int(seed), "size": size},
    ) as ready:
        raw = ready.plan()
        first = correct_until_accepted(raw, corrections=0)
        offsets = correct_until_accepted(raw, exact_corrections=0)
        found = correct_until_accepted(raw)
    errors = [
        np.nan if each.report is None else each.report.criteria[0].value
        for each in (first, offsets, found)
    ]
    return {
        "plan": found.status.name,
        "followed": found.status.executable,
        "first_error": errors[0],
        "offsets": offsets.status.name,
        "offsets_error": errors[1],
        "error": errors[2],
        "corrections": found.corrections,
        "exact_corrections": found.exact_corrections,
        "exact_seconds": found.exact_seconds,
        "missed": found.plan.miss,
        "tension": float(found.plan.u.max()),
        "flutter": found.flutter,
        "equilibria": found.robot.evaluations,
        "message": found.message,
    }
