"""Stiffness of a flexible loop from torques and joint angles of the arm that moves it.

Source: Caldwell, Coleman, Correll 2014, section IV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.identification.mechanism.experiment import MechanismExperiment
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Number, Point
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import EquilibriumStart, Feedback, Force, Output
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording

from . import baxter
from .feedback import gains
from .model import LINKS, STIFFNESSES, arm_with_loop
from .recording import ANGLE_NOISE, TORQUE_NOISE

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect

DT = 0.01
"""Sample period of recordings, and time step of models of up to 12 links [s]."""
HAND_NOISE = 0.0026
"""Noise of the position of the hand from `ANGLE_NOISE`, along each axis [m]."""


@dataclass(frozen=True, eq=False)
class LoopProblem(Problem):
    """Torques and joint angles of the arm are recorded; the position of its hand is compared."""

    links: int = LINKS
    """Links of the model."""
    parameters: tuple[Parameter, ...] = STIFFNESSES
    """Unknown parameters."""
    stiffness: tuple[Number, Number] = ("kappa_theta", "kappa_psi")
    """Stiffness of the loop's springs about x and y, for 12 links [N m / rad]."""
    share: float = 0.5
    """Share of a step's force at its end; 0 as in the paper."""
    rate: float = 1.0 / DT
    """Sample rate of recordings [Hz]."""
    channels: tuple[Channel, ...] = ()
    """None: the position of the hand is computed from the joint angles."""

    commanded: tuple[str, ...] = ()
    """Names of commands; by default none, with torques and angles from one closed loop."""

    @property
    def name(self) -> str:
        """Name with the number of links."""
        return f"loop of {self.links} links"

    @property
    def dt(self) -> float:
        """Time step [s].

        Forces of constraints act as at the ends of a step, which is unstable where links are light:
        linearised, 12, 18 and 24 links are stable at 20, 5 and 2.5 ms, not at 40, 10 and 5 ms.
        """
        return DT / max(1, math.ceil((self.links / LINKS) ** 2))

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Seven torques, seven joint angles."""
        return (*_torques(), *_angles())

    @property
    def recorded(self) -> dict[str, str]:
        """Names of inputs by columns of recordings of scenes/loop_manipulation.py."""
        return {
            f"robot.{quantity}[{k}]": f"{quantity}_{joint}"
            for quantity in ("torque", "angle")
            for k, joint in enumerate(baxter.JOINTS)
        }

    @property
    def mechanism(self) -> Mechanism:
        """Arm and loop."""
        return arm_with_loop(self.links, stiffness=self.stiffness, parameters=self.parameters)

    def experiment(self, recording: Recording) -> MechanismExperiment:
        """The model of one recorded run, with feedback gains at the parameters' starts."""
        mechanism, dt = self.mechanism, self.dt
        period = recording.time[-1] - recording.time[0]
        nodes = recording.time[0] + dt * np.arange(math.ceil(period / dt - 1e-6) + 1)
        angles = recording.inputs[:, len(baxter.JOINTS) :]
        b = np.column_stack([np.interp(nodes, recording.time, angle) for angle in angles.T])
        gain = gains(mechanism, starts(self.parameters), b, dt)
        return self._with(mechanism, gain).experiment(recording)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Candidate effects of the mechanism."""
        return self._with(self.mechanism, np.zeros((1, 7, 7))).effects

    def _with(self, mechanism: Mechanism, gain: np.ndarray) -> MechanismProblem:
        """The problem of the mechanism, with gains of its feedback."""
        return MechanismProblem(
            name=self.name,
            mechanism=mechanism,
            dt=self.dt,
            outputs=(Output(Point(baxter.JOINTS[-1], baxter.HAND), _hand()),),
            forces=tuple(Force(*pair) for pair in zip(baxter.JOINTS, _torques(), strict=True)),
            feedback=Feedback(baxter.JOINTS, _angles(), gain),
            start=EquilibriumStart(),
            from_feedback=True,
            share=self.share,
            finer={"links": replace(self, links=2 * self.links)},
        )


def _torques() -> tuple[Channel, ...]:
    largest = dict(zip(baxter.JOINTS, baxter.EFFORT, strict=True))
    return tuple(
        Channel(f"torque_{joint}", "N m", TORQUE_NOISE, 2.0 * largest[joint])
        for joint in baxter.JOINTS
    )


def _angles() -> tuple[Channel, ...]:
    return tuple(Channel(f"angle_{joint}", "rad", ANGLE_NOISE, 4.0) for joint in baxter.JOINTS)


def _hand() -> tuple[Channel, ...]:
    return tuple(Channel(f"hand.{axis}", "m", HAND_NOISE) for axis in "xyz")


PROBLEMS = {"loop": LoopProblem, "loop6": partial(LoopProblem, 6)}
