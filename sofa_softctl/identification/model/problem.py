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
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.recording import Recording

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect


class Problem(ABC):
    """Declaration of the columns of recordings, and of the model that predicts a recording.

    A subclass defines, as attributes, properties or dataclass fields, a `name`; unknown
    `parameters` in the order of rho; `inputs` and `channels`, the columns of recordings that drive
    the model and that are compared with it. It defines the method `experiment`. All other members
    have defaults, such as `rate` [Hz], at which recordings must be sampled (None: any), and
    `recorded`, a dict from columns of MCAP records to names of inputs and channels.
    """

    @staticmethod
    def checked(problem: Any) -> Problem:
        """Return the problem itself.

        Raises:
            IdentificationError: The class does not derive from `Problem`.
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
            """Signals that drive the model: columns without missing samples."""

        @property
        @abstractmethod
        def channels(self) -> tuple[Channel, ...]:
            """Measured outputs: columns in which samples may be missing."""

        @property
        def rate(self) -> float | None:
            """Sample rate that the model needs [Hz]; None, the default, allows any, even or not."""

        @property
        def recorded(self) -> Mapping[str, str]:
            """Names of `inputs` and `channels` by column of MCAP records; empty by default."""

        @property
        def commanded(self) -> tuple[str, ...] | None:
            """Names of the inputs that can be commanded; None, the default, means all of them."""

        @property
        def scene(self) -> str | Path | Callable[..., Any] | None:
            """Scene file, or createScene with the parameters as arguments; None by default."""

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
        """Effects that can be switched on and are known without a recording.

        None, the default, means gain, offset and delay of each signal.
        """
        return None

    @abstractmethod
    def experiment(self, recording: Recording) -> Experiment:
        """Return the model of one recorded run.

        Raises:
            IdentificationError: The recording does not fit the problem.
        """

    def from_record(self, path: str | Path) -> Recording | None:
        """Return the recording that the sensors would have made of the run in an MCAP file.

        The default returns None: columns of the file are used without conversion.

        Raises:
            IdentificationError: The record is of another scene.
            RecordError: The file cannot be read.
        """
        del path
        return None

    def scene_values(self, rho: np.ndarray) -> dict[str, Any]:
        """Return the arguments of createScene of `scene` at these parameters; none by default."""
        del rho
        return {}


def load_problem(name: str) -> Problem:
    """Load the problem FILE.py:NAME of a file's PROBLEMS, or FILE.py if it has only one.

    Raises:
        IdentificationError: The file or the problem does not exist.
    """
    problem: object = problem_file.load_problem(
        name,
        error=IdentificationError,
        page="docs/how-to/identify-a-model.md#declare-a-problem",
        members=("name", "parameters", "inputs", "channels", "experiment"),
    )
    return Problem.checked(problem)
