"""A small scene and studies of it, for tests."""

from pathlib import Path

from sofa_softctl.batch.execution.driver import run_study
from sofa_softctl.batch.execution.workers import bitwise_key
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.batch.study.row import TIMES
from sofa_softctl.batch.table.folder import StudyFolder
from sofa_softctl.batch.table.results import read_results

SCENE = """
import os
import random
import signal
import time

import numpy as np

from sofa_softctl.testing.scene import small_scene


def createScene(root, young=500.0, pull=0.0, trouble="", pause=0.0):
    made = small_scene(root)
    made.body.TetrahedronFEMForceField.youngModulus = young
    made.cables[0].value = [pull * random.uniform(0.9, 1.1) * np.random.uniform(0.9, 1.1)]
    time.sleep(pause)
    print("loaded", young)
    if trouble == "raise":
        raise RuntimeError("the cable broke")
    if trouble == "exit":
        raise SystemExit(3)
    if trouble == "diverge":
        made.body.dofs.position.value = made.body.getTopology().position.value
        made.body.dofs.velocity.value = np.full((12, 3), 1e200)
    if trouble == "fold":  # its rest shape mirrored
        x = np.array(made.body.getTopology().position.value)
        made.body.dofs.rest_position.value = x
        made.body.dofs.position.value = x * [1.0, 1.0, -1.0]
    if trouble == "hang":
        time.sleep(600.0)
    if trouble == "memory":
        kept = np.ones(1 << 28)
        time.sleep(600.0)
    if trouble == "print":
        for _ in range(100):
            print("x" * 100_000)
        raise RuntimeError("the end")
    if trouble == "die":
        os.kill(os.getpid(), signal.SIGKILL)


def height(session):
    return session.root.body.tip.dofs.position.value[0][2]


def steps_of(record):
    return len(record.time)


def noise():
    return random.random() + np.random.random()
"""
MEASURES = """
[measures]
height = "bar.py:height"
noise = "bar.py:noise"
"""
GRID = f"""
scene = "bar.py"
steps = 3
[parameters.young]
range = [300, 900]
count = 3
log = true
[parameters."body/cable_1/cable.value"]
values = [[0.0], [2.0], [4.0]]
{MEASURES}
"""


def written(folder: Path, text: str = GRID, name: str = "bar") -> Path:
    """A study file beside the scene."""
    (folder / "bar.py").write_text(SCENE)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def done(path: Path, executor, out="", **options):
    """The results of a study file, whose runs are done."""
    study = read_study(path)
    folder = path.parent / (out or f"{path.stem}.study")
    with StudyFolder(folder, study) as opened:
        run_study(opened, executor, **options)
    return read_results(folder)


def same_bits(found, left_out=TIMES):
    """Rows as what is equal where they are, bit for bit, without columns of time."""
    return [
        {name: bitwise_key(value) for name, value in row.items() if name not in left_out}
        for row in found.rows.to_pylist()
    ]
