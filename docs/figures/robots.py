"""Makes docs/figures/robots.png: the last frames of four runs with contacts, two by two.

Takes some minutes. Run: `python docs/figures/robots.py`
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
    """The last picture of a run, shape (height, width, 3) of uint8."""
    from PIL import Image

    picture = Path(folder) / f"{scene}.png"
    command = [sys.executable, "-m", "sofa_softctl.cli", "run", f"scenes/{scene}.py", "--quiet"]
    command += ["--duration", str(time), "--picture", str(picture), "--size", "640x480"]
    done = subprocess.run(command, check=False, cwd=ROOT)
    if done.returncode not in (0, 3):  # 3: on the way, goals are not reached
        raise SystemExit(done.returncode)
    return np.asarray(Image.open(picture))


def main():
    """Run the scenes, and put their last frames together."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        pictures = [frame(scene, time, folder) for scene, time in ROBOTS.items()]
    rows = [np.hstack(pictures[:2]), np.hstack(pictures[2:])]
    Image.fromarray(np.vstack(rows)).save(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
