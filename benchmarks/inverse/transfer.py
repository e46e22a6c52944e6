"""Table I of the contact paper: the cup's commands in open loop on another plant."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.inverse.measure import MODES
from benchmarks.success_rates.pose_error import angle_about, pose_error, rotation_between
from sofa_softctl.scene.session.run import step_count
from sofa_softctl.scene.session.session import Session

SCENE = "trunk_cup.py"
PLANT = {"trunk_mesh": "gripper_trunk_coarse.vtk", "trunk_modulus": 2800.0, "friction": 0.8}
"""Another mesh, 8 % stiffer, less friction: a robot that nobody modelled exactly."""
ENERGIES = (0.02, 0.1, 0.2, 0.5)
"""Weights of the actuators' energy; the scene's default is among them."""
MOVES = 0.9
"""When the cup begins to move [s]."""
POINTS = 4
"""Controlled points of the cup."""


class PaperTransfer(NamedTuple):
    """Simulation against reality in the paper's Table I: mean and standard deviation."""

    position: tuple[float, float] = (8.69, 3.79)
    """Of the centre of mass [mm]."""
    angle: tuple[float, float] = (5.79, 3.58)
    """In the plane of the greater displacement [degree]."""


@dataclass(frozen=True)
class Transfer:
    """The plant's motion against that of the simulation which the commands are from."""

    mode: str
    """How the simulation took contacts: a key of `MODES`."""
    energy: float
    """Weight of the actuators' energy [-]."""
    position: tuple[float, float]
    """Distance of the means of the cup's points, mean and standard deviation [mm]."""
    angle: tuple[float, float]
    """Angle between them about any axis [degree]."""
    plane: tuple[float, float]
    """In the plane in which the simulated cup turns most, as the paper measures it [degree]."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_transfer(
    folder: Path, progress: Callable[[str], None] | None = None, steps: int | None = None
) -> list[Transfer]:
    """Record the commands in each mode with each weight, and play them to the plant.

    Args:
        folder: Where the scenes are.
        progress: Called with what is being done.
        steps: Only so many first steps; None: the scene's whole motion.
    """
    found = []
    with tempfile.TemporaryDirectory() as place:
        for mode in MODES:
            for energy in ENERGIES:
                if progress is not None:
                    progress(f"{mode}, energy weight {energy:g}")
                commands = Path(place) / f"{mode}_{energy:g}.mcap"
                parameters = {"contacts": mode, "energy": energy}
                simulated = _points(folder, parameters, steps, record=commands)
                real = _points(folder, {"commands": str(commands), **PLANT}, steps)
                found.append(Transfer(mode, energy, *_apart(simulated, real)))
    return found


def _points(
    folder: Path, parameters: dict[str, Any], steps: int | None, record: Path | None = None
) -> np.ndarray:
    """The cup's points from when it begins to move, shape (n, 4, 3)."""
    session = Session(folder / SCENE, parameters=parameters)
    total = step_count(session, steps, None, session.duration or 0.0)
    states = [session.root.cup[f"point_{k}"].dofs for k in range(POINTS)]
    found = []

    def run() -> None:
        for _ in range(total):
            session.step()
            if session.time > MOVES:
                found.append([np.array(state.position.value[0]) for state in states])

    if record is None:
        run()
    else:
        with session.recording(record):
            run()
    return np.array(found).reshape(-1, POINTS, 3)


def _apart(paths: np.ndarray, others: np.ndarray) -> list[tuple[float, float]]:
    """Mean and standard deviation of position, angle and angle in the plane of the first path."""
    turns = np.array([rotation_between(paths[0], points) for points in paths])
    size = np.linalg.norm(turns, axis=1)
    axis = turns[np.argmax(size)] / max(size.max(), 1e-12)
    rows = []
    for points, other in zip(paths, others, strict=True):
        error = pose_error(other, points)
        rows.append((error.position, error.angle, abs(angle_about(points, other, axis))))
    table = np.array(rows)
    return [(float(column.mean()), float(column.std())) for column in table.T]
