"""Makes docs/figures/robots.png: the last frames of four runs with contacts, two by two.

Needs the extra [view]; takes some minutes. Run: `python docs/figures/robots.py`
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
ROBOTS = {"rolling_ring": 1.9, "rolling_ball": 3.0, "trunk_cup": 2.8, "three_fingers": 1.8}
"""Scenes, from left to right and then below, each with the time of its frame [s]."""


def frame(scene, time, folder):
    """The movie's last picture of a run, shape (height, width, 3) of uint8."""
    import imageio.v3 as imageio

    movie = Path(folder) / f"{scene}.gif"
    command = [sys.executable, "-m", "sofa_softctl.cli", "run", f"scenes/{scene}.py", "--quiet"]
    command += ["--duration", str(time), "--movie", str(movie)]
    done = subprocess.run(command, check=False, cwd=ROOT)
    if done.returncode not in (0, 3):  # 3: on the way, goals are not reached
        raise SystemExit(done.returncode)
    return imageio.imread(movie, index=None)[-1][..., :3]


def main():
    """Run the scenes, and put their last frames together."""
    import imageio.v3 as imageio

    with tempfile.TemporaryDirectory() as folder:
        pictures = [frame(scene, time, folder) for scene, time in ROBOTS.items()]
    rows = [np.hstack(pictures[:2]), np.hstack(pictures[2:])]
    imageio.imwrite(Path(__file__).with_suffix(".png"), np.vstack(rows))


if __name__ == "__main__":
    main()
