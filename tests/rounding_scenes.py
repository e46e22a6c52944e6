"""The beginning of each scene with contacts, as JSON: where it is, and what BLAS it had.

OPENBLAS_CORETYPE=Haswell python -m tests.rounding_scenes
"""

import json
from pathlib import Path

import threadpoolctl

from benchmarks.success_rates.cases import ROBOTS
from benchmarks.success_rates.run_measures import RunMeasures
from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[1] / "scenes"
STEPS = {"ring": 60, "ball": 30, "cup": 60, "fingers": 50, "gripper": 50}
"""Steps of each robot: the ring has rolled by 6 mm, the ball not yet; the cup hangs in the hook;
the beam and the palm move."""


def main():
    found = {}
    for name, steps in STEPS.items():
        robot = ROBOTS[name]
        run = RunMeasures(Session(SCENES / robot.scene), robot.place, robot.turn)
        for _ in range(steps):
            run.step()
        found[name] = {"position": run.errors()["position end"], "lost": run.lost}
    kernels = sorted({str(one.get("architecture")) for one in threadpoolctl.threadpool_info()})
    print(json.dumps({"kernels": kernels, "robots": found}))


if __name__ == "__main__":
    main()
