"""Recordings of robots that MuJoCo simulates."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from scipy.optimize import root

from benchmarks.mujoco.mjcf import mjcf
from benchmarks.mujoco.robots import Robot
from sofa_softctl.base.extras import install_command
from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.mechanism.signals import EquilibriumStart
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.recording import Recording

STEP = 1e-4
"""Time step of MuJoCo [s]."""
INTEGRATOR = "RK4"
"""Its integrator: Runge and Kutta's, of fourth order."""


def load() -> ModuleType:
    """MuJoCo's Python package.

    Raises:
        SimulationError: It is not installed.
    """
    try:
        import mujoco
    except ImportError as error:
        raise SimulationError(
            f"Simulating in MuJoCo needs its package: {install_command('mujoco')}."
        ) from error
    return mujoco


def record(robot: Robot, *, step: float = STEP, integrator: str = INTEGRATOR) -> Recording:
    """What a robot does in MuJoCo, without noise, sampled at the time steps of its problem.

    Forces are smooth: MuJoCo holds each over one of its steps, at its value in the middle.

    Args:
        robot: The robot; `problem.dt` is a multiple of `step`.
        step: Time step of MuJoCo [s].
        integrator: MuJoCo's name of its integrator.
    """
    problem = robot.problem
    every, samples = round(problem.dt / step), round(robot.duration / problem.dt)
    if abs(every * step - problem.dt) > 1e-9:
        raise ValueError(f"dt = {problem.dt:g} s is no multiple of MuJoCo's step, {step:g} s.")
    model = load().MjModel.from_xml_string(
        mjcf(problem, robot.truth, step=step, integrator=integrator)
    )
    start = (
        _equilibrium(model) if isinstance(problem.start, EquilibriumStart) else np.zeros(model.nq)
    )
    middles = step * (np.arange(every * samples + 1) + 0.5)
    outputs = rollout([model], start, robot.forces(middles))[0, ::every]
    time = problem.dt * np.arange(samples + 1)
    name = f"{problem.name}, MuJoCo {load().__version__}, {integrator}, {step:g} s"
    return Recording(name, time, robot.forces(time), outputs)


def rollout(models: list[Any], start: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Sensors of models at the start of each step, shape (n_models, n_steps, n_y).

    Args:
        models: MuJoCo's, of equal sizes.
        start: Coordinates of all, at rest, shape (n,).
        forces: Controls of all, shape (n_steps, n_u).
    """
    from mujoco import rollout as mujoco_rollout

    data = load().MjData(models[0])
    state = np.concatenate([[0.0], start, np.zeros(models[0].nv)])
    # Sensors of a step are of the state before it.
    sensors: np.ndarray = mujoco_rollout.rollout(
        models, data, np.tile(state, (len(models), 1)), np.tile(forces, (len(models), 1, 1))
    )[1]
    return sensors


def with_noise(recording: Recording, robot: Robot, seed: int) -> Recording:
    """The recording with noise of its inputs and outputs, as the problem declares it."""
    rng = np.random.default_rng(seed)
    return replace(
        recording,
        inputs=recording.inputs + _noise(robot.problem.inputs, recording.inputs, rng),
        outputs=recording.outputs + _noise(robot.problem.channels, recording.outputs, rng),
    )


def _noise(channels: tuple[Channel, ...], like: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([one.deviation for one in channels]) * rng.standard_normal(like.shape)


def _equilibrium(model: Any) -> np.ndarray:
    """Coordinates at which nothing accelerates, near those where springs rest."""
    simulator = load()
    data = simulator.MjData(model)

    def unbalanced(q: np.ndarray) -> np.ndarray:
        data.qpos[:] = q
        simulator.mj_forward(model, data)
        forces: np.ndarray = data.qfrc_smooth.copy()
        return forces

    found = root(unbalanced, model.qpos_spring, tol=1e-13)
    if np.abs(unbalanced(found.x)).max() > 1e-9:
        raise SimulationError(
            f"MuJoCo's model has no equilibrium near its springs' rest: {found.message}"
        )
    rest: np.ndarray = found.x
    return rest
