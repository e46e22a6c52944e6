"""Model of a mechanism: unknown parameters, recorded forces and measured outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.signals import (
    Angle,
    EquilibriumStart,
    Feedback,
    Force,
    GivenStart,
    Output,
)
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.problem import Problem


@dataclass(frozen=True, eq=False)
class MechanismModel(Problem):
    """A mechanism without its experiments, which hold it; see `MechanismProblem`."""

    name: str
    """Name in reports and messages."""
    mechanism: Mechanism
    """The model."""
    dt: float
    """Time step [s]."""
    outputs: tuple[Output, ...]
    """Measured outputs."""
    forces: tuple[Force, ...] = ()
    """Recorded forces."""
    feedback: Feedback | None = None
    """Feedback to the measured motion."""
    start: GivenStart | EquilibriumStart = field(default_factory=GivenStart)
    """Initial state of a recording."""
    from_feedback: bool = False
    """Whether outputs are not recorded, but computed from the coordinates of the feedback."""
    delay: Mapping[str, str] = field(default_factory=dict)
    """Channels of inputs to the parameters of their delays [s]."""
    gain: Mapping[str, str] = field(default_factory=dict)
    """Channels of forces and outputs to the parameters of their relative gains [-]: the force on a
    joint is (1 + gain) (recorded + offset), an output is measured as (1 + gain) y + offset."""
    offset: Mapping[str, str] = field(default_factory=dict)
    """The same for offsets [unit]. A coordinate of the feedback is measured as q + offset."""
    hold: Mapping[str, str] = field(default_factory=dict)
    """Channels of forces to parameters: 0, as interpolated, to 1, held from sample to sample."""
    friction_speed: float = 0.01
    """Speed of friction that is switched on, see `Friction` [rad / s] or [m / s]."""
    payload_at: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Joints to places in their axes of a payload that may be switched on [m]; without any: the
    markers of `outputs`, or the centre of the last body of joints that carry no other."""
    share: float = 0.5
    """Share of a step's force that acts at its end; 0: the paper's split, of first order."""
    finer: Mapping[str, Problem] = field(default_factory=dict)
    """Problems of finer models whose parameters have the same meaning, by what they have more of,
    as 'links' for a chain of more of them: for the error of the discretisation."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the mechanism."""
        return self.mechanism.parameters

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Forces, then coordinates of the feedback."""
        fed = self.feedback.channels if self.feedback else ()
        return (*(force.channel for force in self.forces), *fed)

    @property
    def commanded(self) -> tuple[str, ...]:
        """Forces; none with feedback of measured motion, which a command does not determine."""
        return () if self.feedback else tuple(force.channel.name for force in self.forces)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Outputs that a recording must have."""
        return () if self.from_feedback else self.compared

    @property
    def compared(self) -> tuple[Channel, ...]:
        """Outputs that are compared with the model's."""
        return tuple(channel for output in self.outputs for channel in output.channels)

    @abstractmethod
    def with_unknown_inputs(self, experiment: Experiment) -> Experiment:
        """Return an experiment of this problem with its noisy forces as unknowns."""

    def index(self, parameter: str) -> int:
        """Index of a parameter.

        Raises:
            IdentificationError: The parameter does not exist.
        """
        names = [parameter.name for parameter in self.parameters]
        if parameter not in names:
            raise IdentificationError(
                f"{self.name}: there is no parameter '{parameter}'. Known: "
                f"{', '.join(names) or 'none'}."
            )
        return names.index(parameter)

    def read(self, rho: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs of configurations q (m, n), with derivatives by q and explicit ones by rho.

        Returns:
            Shapes (m, n_y), (m, n_y, n), (m, n_y, n_rho).
        """
        tree, m = self.mechanism.tree, len(q)
        measured = [
            output.reading for output in self.outputs if not isinstance(output.reading, Angle)
        ]
        rows = self.mechanism.rows(measured)
        y, by_all = np.empty((m, len(rows.kind))), np.empty((m, len(rows.kind), len(tree.parent)))
        kernels.readings(tree, rows, rho, q, y, by_all)
        by_q, by_rho = by_all[:, :, tree.joint], np.zeros((m, len(rows.kind), len(rho)))
        for f in np.flatnonzero(tree.rigid.parameter >= 0):
            by_rho[:, :, tree.rigid.parameter[f]] += tree.rigid.factor[f] * by_all[:, :, f]
        readings: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        row = 0
        for output in self.outputs:
            if isinstance(output.reading, Angle):
                readings.append(self._angle(output.reading.joint, rho, q))
                continue
            columns = slice(row, row := row + len(output.channels))
            readings.append((y[:, columns], by_q[:, columns], by_rho[:, columns]))
        joined = [np.concatenate(parts, axis=1) for parts in zip(*readings, strict=True)]
        self._apply_sensors(rho, *joined)
        return joined[0], joined[1], joined[2]

    def _apply_sensors(
        self, rho: np.ndarray, y: np.ndarray, by_q: np.ndarray, by_rho: np.ndarray
    ) -> None:
        """Apply gains and offsets of sensors in place."""
        for column, channel in enumerate(self.channels):
            if channel.name in self.gain:
                k = self.index(self.gain[channel.name])
                by_rho[:, column] *= 1.0 + rho[k]
                by_rho[:, column, k] += y[:, column]
                by_q[:, column] *= 1.0 + rho[k]
                y[:, column] *= 1.0 + rho[k]
            if channel.name in self.offset:
                k = self.index(self.offset[channel.name])
                by_rho[:, column, k] += 1.0
                y[:, column] += rho[k]

    def _angle(
        self, joint: str, rho: np.ndarray, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        c = self.mechanism.coordinate(joint)
        by_q = np.zeros((len(q), 1, q.shape[1]))
        by_q[:, 0, c] = 1.0
        return q[:, [c]], by_q, np.zeros((len(q), 1, len(rho)))
