"""What is identified from recordings: unknown parameters, recorded signals, a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.experiment import Channel, Experiment
from sofa_softctl.identification.parameter import Parameter


class Problem(Protocol):
    """Says what a recording must hold, and makes experiments of recordings.

    A problem whose model steps at fixed times also has `rate` [Hz]: recordings are then checked to
    be sampled so often, evenly. One whose signals have other names where `softctl run` records them
    has `recorded`, a dict of those names to its own.
    """

    @property
    def name(self) -> str:
        """For people."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What is unknown."""

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Signals that drive the model: columns that a recording must have at every time."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Measured outputs: columns that a recording must have, with samples missing or not."""

    def experiment(self, recording: Recording) -> Experiment:
        """The model of one recorded run.

        Raises:
            IdentificationError: The recording is not one of this problem.
        """


@runtime_checkable
class FromRecords(Protocol):
    """A problem that makes recordings of recorded runs of scenes by itself."""

    def from_record(self, path: str | Path) -> Recording:
        """The recording that its sensors would have made of the run in an MCAP file.

        Raises:
            IdentificationError: The record is of another scene.
            RecordError: The file cannot be read.
        """


@runtime_checkable
class OfScenes(Protocol):
    """A problem whose parameters are those of a scene."""

    @property
    def scene(self) -> str | Path | Callable[..., Any]:
        """Scene file or createScene."""

    def scene_values(self, rho: np.ndarray) -> dict[str, Any]:
        """Parameters of createScene for the scene with what was found."""

    @property
    def not_in_scene(self) -> tuple[str, ...]:
        """Unknown numbers of the scene that createScene does not take."""
