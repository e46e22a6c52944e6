"""Base class of identification problems: unknown parameters, recorded signals, a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.base import problem_file
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

if TYPE_CHECKING:
    from sofa_softctl.identification.model.effect import Effect


class Problem(ABC):
    """Declares the columns of recordings, and makes an experiment of a recording.

    Derive from it. A subclass has, as attributes, properties or dataclass fields, a `name`; unknown
    `parameters` in the order of rho; `inputs` and `channels`, the columns of recordings that drive
    the model and that are compared with it. It has the method `experiment`. All other members have
    defaults, such as `rate` [Hz], at which recordings must be sampled (None: any), and `recorded`,
    a dict from columns of MCAP records to names of inputs and channels.
    """

    @staticmethod
    def checked(problem: Any) -> Problem:
        """Return the problem itself.

        Raises:
            IdentificationError: Its class does not derive from `Problem`.
        """
        if not isinstance(problem, Problem):
            kind = type(problem).__name__
            raise IdentificationError(
                f"{kind} does not derive from sofa_softctl.identification.Problem: write class "
                f"{kind}(Problem). See docs/how-to/identify-a-model.md#declare-a-problem."
            )
        return problem

    if TYPE_CHECKING:  # at run time dataclasses would take a property for the default of a field

        @property
        @abstractmethod
        def name(self) -> str:
            """Name in reports and messages."""

        @property
        @abstractmethod
        def parameters(self) -> tuple[Parameter, ...]:
            """Unknown parameters, in the order of rho."""

        @property
        @abstractmethod
        def inputs(self) -> tuple[Channel, ...]:
            """Signals that drive the model: columns that a recording has at every time."""

        @property
        @abstractmethod
        def channels(self) -> tuple[Channel, ...]:
            """Measured outputs: columns that a recording has, samples may be missing."""

        @property
        def rate(self) -> float | None:
            """Sample rate that the model needs [Hz]; None, the default: any, even or not."""

        @property
        def recorded(self) -> Mapping[str, str]:
            """Columns of MCAP records to names of `inputs` and `channels`; empty by default."""

        @property
        def commanded(self) -> tuple[str, ...] | None:
            """Inputs that can be commanded, by name; None, the default: all of them."""

        @property
        def scene(self) -> str | Path | Callable[..., Any] | None:
            """Scene file or createScene of the parameters; None, the default: no scene."""

        @property
        def not_in_scene(self) -> tuple[str, ...]:
            """Parameters that createScene of `scene` does not take; none by default."""
    else:
        rate = None
        recorded = MappingProxyType({})
        commanded = None
        scene = None
        not_in_scene = ()

    @property
    def effects(self) -> tuple[Effect, ...] | None:
        """Effects that could be switched on, as far as known without a recording.

        None, the default: gain, offset and delay of each signal. A problem whose experiments have
        others returns them.
        """
        return None

    @abstractmethod
    def experiment(self, recording: Recording) -> Experiment:
        """The model of one recorded run.

        Raises:
            IdentificationError: The recording does not fit the problem.
        """

    def from_record(self, path: str | Path) -> Recording | None:
        """The recording that the sensors would have made of the run in an MCAP file.

        None, the default: columns of the file are taken as they are.

        Raises:
            IdentificationError: The record is of another scene.
            RecordError: The file cannot be read.
        """
        del path
        return None

    def scene_values(self, rho: np.ndarray) -> dict[str, Any]:
        """Arguments of createScene of `scene` at these parameters; none by default."""
        del rho
        return {}


def load_problem(name: str) -> Problem:
    """The problem FILE.py:NAME of a file's PROBLEMS; FILE.py if it has one.

    Raises:
        IdentificationError: There is no such problem.
    """
    problem: object = problem_file.load_problem(
        name,
        error=IdentificationError,
        page="docs/how-to/identify-a-model.md#declare-a-problem",
        members=("name", "parameters", "inputs", "channels", "experiment"),
    )
    return Problem.checked(problem)
