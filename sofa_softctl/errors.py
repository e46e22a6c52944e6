"""Exceptions of the package.

SoftctlError                base class of all errors of this package
├── SceneError              a scene asks for something that cannot be (ValueError)
│   ├── UnknownComponentError   no component of that name
│   ├── UnknownDataError        a component has no Data of that name (AttributeError, TypeError)
│   ├── UnreadableValueError    a value does not fit its Data (IndexError)
│   ├── ArgumentError           a function of SofaPython3 takes no such argument (TypeError)
│   ├── ParameterError          createScene takes no such parameter, or not that value
│   └── LinkError               the target of a link does not exist
├── MeshError               a mesh file is missing, unreadable or degenerate (ValueError)
├── DivergedError           the state became NaN or infinite during a step (ArithmeticError)
├── BackendError            the requested backend is not available (ImportError)
├── IdentificationError     data or parameters of an identification are wrong (ValueError)
├── PluginError             a plugin cannot be loaded or collides with another
├── MapError                the exact map cannot be evaluated at a point (ArithmeticError)
├── ProblemError            an optimisation problem is malformed (ValueError)
├── RecordError             a recording cannot be written or read (ValueError)
├── LibraryError            a library of motions cannot be used, written or read (ValueError)
├── PolicyError             a learned policy cannot be used, written or read (ValueError)
├── SimulationError         a model cannot be simulated with some parameters (ArithmeticError)
├── StoreError              a store of samples cannot be opened, written or read (ValueError)
├── UsageError              a command line is wrong
├── ConfigError             the configuration file of a robot is wrong (ValueError)
├── StudyError              a study of many runs is wrong, or its folder cannot be used (ValueError)
├── ReachError              the goals of a plan are out of reach (ValueError)
├── TimeLimitError          a time limit was reached before there was an answer (TimeoutError)
├── DeviceError             a motor, pump or sensor, or the line to it, failed
│   ├── DeviceUnavailableError  not supported here: a library or the kernel lacks it (ImportError)
│   ├── DeviceOpenError         it could not be opened: missing, busy, no permission, wrong firmware
│   ├── DeviceFailedError       it failed while it was running: unplugged, an internal fault
│   └── DeviceTimeoutError      it did not answer in time (TimeoutError)
├── ClusterError            a Dask cluster is not reached, or has other versions (RuntimeError)
└── WorkerError             a worker process ended before it answered (RuntimeError)
"""

from __future__ import annotations

from collections.abc import Sequence


class SoftctlError(Exception):
    """Base class of all errors."""


class SceneError(SoftctlError, ValueError):
    """A scene asks for something that cannot be. The message gives the scene's line."""


class UnknownComponentError(SceneError):
    """A scene names a component that does not exist."""

    component: str = ""
    """Name of the component."""


class UnknownDataError(SceneError, AttributeError, TypeError):
    """A scene names a Data that the component does not have."""

    component: str = ""
    """Class of the component."""
    data: str = ""
    """Name of the unknown Data."""


class UnreadableValueError(SceneError, IndexError):
    """A value does not fit its Data."""

    component: str = ""
    """Class of the component."""
    data: str = ""
    """Name of the Data."""


class ArgumentError(SceneError, TypeError):
    """A function of SofaPython3 got an argument of a wrong type, or one is missing."""


class ParameterError(SceneError):
    """createScene takes no parameter of that name, not that value, or needs one more."""


class LinkError(SceneError):
    """The target of a link such as '@../loader.position' does not exist."""


class MeshError(SoftctlError, ValueError):
    """A mesh file is missing, unreadable or degenerate."""


class DivergedError(SoftctlError, ArithmeticError):
    """The state became NaN or infinite; the simulation stopped at that step."""

    @classmethod
    def from_nodes(cls, state: str, time: float, dt: float, bad: Sequence[bool]) -> DivergedError:
        """Return the error for a state in the step that begins at `time`; `bad` marks nodes."""
        nodes = [node for node, is_bad in enumerate(bad) if is_bad]
        return cls(
            f"{state} diverged in the step from t = {time:.6g} to {time + dt:.6g}: {len(nodes)} "
            f"of {len(bad)} nodes are NaN or infinite, first node {nodes[0]}. Try a smaller dt, "
            "smaller forces or stiffnesses, or look for inverted elements."
        )


class MapError(SoftctlError, ArithmeticError):
    """The exact map cannot be evaluated at some controls."""


class BackendError(SoftctlError, ImportError):
    """The requested backend is not available here."""


class IdentificationError(SoftctlError, ValueError):
    """Data or parameters of an identification are wrong, or do not fit each other."""


class PluginError(SoftctlError):
    """A plugin cannot be loaded, or collides with another one."""


class ProblemError(SoftctlError, ValueError):
    """An optimisation problem is malformed: wrong shapes, NaN, lower above upper bound."""


class RecordError(SoftctlError, ValueError):
    """A recording cannot be written or read."""


class LibraryError(SoftctlError, ValueError):
    """A library of motions cannot be used, written or read, or its problem is declared wrongly."""


class PolicyError(SoftctlError, ValueError):
    """A learned policy cannot be used, written or read."""


class SimulationError(SoftctlError, ArithmeticError):
    """A model cannot be simulated with some parameters; a search continues with others."""


class StoreError(SoftctlError, ValueError):
    """A store of samples cannot be opened, written or read."""


class ReachError(SoftctlError, ValueError):
    """A goal of a plan is out of reach, whatever time the motion has."""


class TimeLimitError(SoftctlError, TimeoutError):
    """A time limit was reached before there was an answer."""


class UsageError(SoftctlError):
    """A command line is wrong: the value of an option, or options that exclude each other."""


class ConfigError(SoftctlError, ValueError):
    """The configuration file of a robot is wrong. The message gives the file's line."""


class StudyError(SoftctlError, ValueError):
    """A study of many runs is wrong, or its folder cannot be read or written."""


class DeviceError(SoftctlError):
    """A device of the hardware bridge, such as a motor or a pump, or the line to it, failed."""


class DeviceUnavailableError(DeviceError, ImportError):
    """A device is not supported here: a Python package, or the kernel, lacks what it needs."""


class DeviceOpenError(DeviceError):
    """A device cannot be opened: missing, busy, no permission, another firmware or protocol."""


class DeviceFailedError(DeviceError):
    """A device failed while it was running: unplugged, an internal fault, an emergency stop."""


class DeviceTimeoutError(DeviceError, TimeoutError):
    """A device did not answer in time."""


class ClusterError(SoftctlError, RuntimeError):
    """A Dask cluster cannot be used: it is not reached, or its workers have other versions."""


class WorkerError(SoftctlError, RuntimeError):
    """A worker process ended before it returned a result."""
