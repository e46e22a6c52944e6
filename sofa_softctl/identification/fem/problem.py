"""Identification problems of FEM robots in scenes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import effects_of_signals
from sofa_softctl.identification.fem.effects import fem_effects
from sofa_softctl.identification.fem.experiment import FemExperiment
from sofa_softctl.identification.fem.model import FemModel
from sofa_softctl.identification.fem.record import recording_of
from sofa_softctl.identification.fem.registration import Registration, check_handedness, register
from sofa_softctl.identification.model.channel import marker_columns
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.recording import Recording

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect


@dataclass(frozen=True, eq=False)
class FemProblem(FemModel):
    """Unknown parameters of a scene, recorded drives of its robot, and sensors.

    The scene's controllers are replaced by recorded inputs. A recording may have any times: the
    scene steps with its dt, inputs apply at the end of each step, and inputs and predictions are
    interpolated linearly.
    """

    @property
    @override
    def scene_effects(self) -> tuple[Effect, ...]:
        return fem_effects(self)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Gain, offset and delay of signals, masses and damping; builds the scene."""
        signals = effects_of_signals(self.inputs, self.channels, self.parameters)
        return (*signals, *self.scene_effects)

    def from_record(self, path: str | Path) -> Recording:
        """The recording that drives and sensors would have made of a recorded run of the scene.

        Raises:
            IdentificationError: The record is of another scene.
            RecordError: The file cannot be read.
        """
        return recording_of(self, path, start=self.wait)

    @override
    def experiment(self, recording: Recording) -> FemExperiment:
        if not self.register_by:
            return FemExperiment(self, recording, self.frame)
        if "_camera" not in self.__dict__:  # cached in a frozen dataclass
            self.__dict__["_camera"] = self._register_frame(recording)
        return FemExperiment(self, recording, self.__dict__["_camera"])

    def _register_frame(self, recording: Recording) -> Registration:
        """Fit the frame to the mean measured and predicted positions of `register_by`."""
        names = [channel.name for channel in self.channels]
        try:
            columns = [
                [names.index(f"{marker}.{axis}") for axis in "xyz"] for marker in self.register_by
            ]
        except ValueError as error:
            raise IdentificationError(
                f"Problem '{self.name}' registers by markers that it does not measure: {error}. "
                f"It has: {', '.join(names)}."
            ) from error
        predicted = FemExperiment(self, recording).outputs(starts(self.parameters))
        registration = register(
            *_mean_positions(recording.outputs, predicted, columns), names=self.register_by
        )
        marker_columns_of_channels = [[*three] for three in marker_columns(self.channels).values()]
        check_handedness(*_mean_positions(recording.outputs, predicted, marker_columns_of_channels))
        return registration


def _mean_positions(
    measured: np.ndarray, predicted: np.ndarray, columns: list[list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean positions of markers, measured and predicted at the same times, (n, 3) each."""
    is_measured = np.isfinite(measured[:, columns]).all(axis=2, keepdims=True)  # (n_times, n, 1)
    count = is_measured.sum(axis=0)
    measured_means, predicted_means = (
        np.where(is_measured, positions[:, columns], 0.0).sum(axis=0)
        / np.where(count, count, np.nan)
        for positions in (measured, predicted)
    )
    return measured_means, predicted_means
