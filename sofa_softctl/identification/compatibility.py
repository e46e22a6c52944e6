"""Adapters for experiments and problems whose classes do not derive from the base classes.

Version 0.1 asked for the members alone. Deprecated: the adapters end with version 0.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.problem import Problem

MEMBERS = (
    "name",
    "parameters",
    "channels",
    "inputs",
    "time",
    "measured",
    "outputs",
    "sensitivities",
)
"""Members of an experiment without a default."""


def as_experiment(one: Experiment) -> Experiment:
    """The experiment itself, or an adapter of it, with a warning, if its class does not derive.

    Raises:
        IdentificationError: It lacks a member that has no default.
    """
    found = one if isinstance(one, Experiment) else _AdaptedExperiment(one)
    if lacks := [name for name in MEMBERS if not hasattr(found, name)]:
        raise IdentificationError(
            f"{type(one).__name__} is no experiment: it has no {' and no '.join(lacks)}. See "
            "docs/how-to/identify-a-model.md#what-an-experiment-needs."
        )
    return found


def as_problem(one: Problem) -> Problem:
    """The problem itself, or an adapter of it, with a warning, if its class does not derive."""
    return one if isinstance(one, Problem) else _AdaptedProblem(one)


class _Adapter:
    """Members of another object, and the defaults of a base class where it has none."""

    def __init__(self, one: Any, base: type, methods: tuple[str, ...]) -> None:
        warnings.warn(  # of a kind that is shown by default, also where a file is imported
            f"{type(one).__name__} does not derive from sofa_softctl.identification."
            f"{base.__name__}; from version 0.3 on it must: class {type(one).__name__}"
            f"({base.__name__}).",
            FutureWarning,
            stacklevel=4,
        )
        self._one = one
        for name in methods:
            if (method := getattr(one, name, None)) is not None:
                setattr(self, name, method)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # looked up while unpickling, when there is no `_one` yet
            raise AttributeError(name)
        return getattr(self._one, name)

    def _optional(self, name: str, default: Any) -> Any:
        """A member, evaluated when it is asked for; the default if there is none, or None."""
        member = getattr(self._one, name, None)
        return default if member is None else member


class _AdaptedExperiment(_Adapter, Experiment):
    def __init__(self, one: Any) -> None:
        methods = ("pull_back", "measured_by_inputs", "with_input_errors", "with_recording")
        super().__init__(one, Experiment, methods)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._optional("notes", ()))

    @property
    def outputs_from_inputs(self) -> bool:
        return bool(self._optional("outputs_from_inputs", False))

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._one.outputs(rho)
        return found

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found: tuple[np.ndarray, np.ndarray] = self._one.sensitivities(rho)
        return found

    @property
    def has_adjoint(self) -> bool:
        return {"pull_back", "measured_by_inputs"} <= vars(self).keys()


class _AdaptedProblem(_Adapter, Problem):
    def __init__(self, one: Any) -> None:
        super().__init__(one, Problem, ("from_record", "scene_values"))

    @property
    def rate(self) -> float | None:
        rate: float | None = self._optional("rate", None)
        return rate

    @property
    def recorded(self) -> Mapping[str, str]:
        recorded: Mapping[str, str] = self._optional("recorded", {})
        return recorded

    @property
    def commanded(self) -> tuple[str, ...] | None:
        commanded: tuple[str, ...] | None = self._optional("commanded", None)
        return commanded

    @property
    def scene(self) -> str | Path | Callable[..., Any] | None:
        scene: str | Path | Callable[..., Any] | None = self._optional("scene", None)
        return scene

    @property
    def not_in_scene(self) -> tuple[str, ...]:
        return tuple(self._optional("not_in_scene", ()))

    def experiment(self, recording: Recording) -> Experiment:
        found: Experiment = self._one.experiment(recording)
        return found
