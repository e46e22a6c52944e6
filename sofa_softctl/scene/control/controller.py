"""Base class of controllers, also inside SOFA's step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import Sofa.Core
import Sofa.SofaConstraintSolver  # before a scene makes its solver: it adds W() and lambda_force()

from sofa_softctl.base import source_line
from sofa_softctl.base.suggestions import nearest_names
from sofa_softctl.errors import ConfigError, DeviceError, SceneError
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.access import writer
from sofa_softctl.scene.control.report import History, Markers, Summary

if TYPE_CHECKING:
    from sofa_softctl.scene.control.streams import StreamRows

SIMILARITY_MIN = 0.75
"""Similarity of an attribute's name to an option's above which a misspelling is reported [-]."""
EventMethod = Callable[[Any, Any], None]


class SceneController(Sofa.Core.Controller):  # type: ignore[misc]
    """A controller that knows the scene's line that made it and offers outputs as Data.

    Args:
        root: Root of the scene.
        args: Passed to Sofa.Core.Controller.
        kwargs: Passed to Sofa.Core.Controller, such as the name.

    Raises:
        SceneError: `root` is not a node, or an option is missing or unknown; also in subclasses.
    """

    made_at = ""
    """The scene's line, such as 'scenes/trunk.py:41'."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Check the names of the options before a constructor can fail on them."""
        line = source_line.describe(source_line.scene_line())
        options.check_signature(cls, args, kwargs, line)
        controller = super().__new__(cls)
        controller.__dict__["made_at"] = line
        return controller

    def __init__(self, *args: Any, root: Any = None, **kwargs: Any) -> None:
        options.refuse_unknown(type(self), kwargs, self.made_at)
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        if not hasattr(root, "findData"):
            options.raise_invalid_option(self, "root", "the root node of the scene", root)
        self.root = root
        self.outputs: dict[str, Any] = {}
        """Output Data, by name."""
        self._writers: dict[str, Callable[[Any], None]] = {}
        self.time, self.dt = root.findData("time"), root.findData("dt")
        self.failed = False
        """Whether an event method failed: all event methods then do nothing until a reset."""

    def __getattr__(self, name: str) -> Any:
        # SOFA requests a method at every event, and its search for a missing one is slow.
        if name.startswith("on"):
            raise AttributeError(name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Any = self.__class__
        if name in options.names_of(kind) and name not in vars(self) and self._is_made(name):
            options.raise_invalid_option(
                self, name, "set when the controller is made: nothing reads it", value
            )
        elif name not in vars(self) and not hasattr(kind, name) and "outputs" in vars(self):
            self._warn_of_attribute(name)
        super().__setattr__(name, value)

    def _warn_of_attribute(self, name: str) -> None:
        """Warn of an attribute set by a script whose name resembles an option."""
        frame = source_line.scene_frame()
        if frame is None or frame.f_locals.get("self") is self:
            return
        kind: Any = type(self)
        close = nearest_names(name, options.names_of(kind), cutoff=SIMILARITY_MIN)
        if close and self._is_made(name):
            line = source_line.describe(source_line.scene_line())
            Sofa.msg_warning(
                self,
                f"{line}: {kind.__name__} has no option '{name}', so this makes an attribute "
                f"that nothing reads. Did you mean '{close[0]}'?",
            )

    def _is_made(self, name: str) -> bool:
        """Return True if the controller is in a node and `name` is not one of its Data.

        The path decides: `getContext()` of a component without a node ends SOFA's process.
        """
        return self.getPathName().startswith("/") and self.findData(name) is None

    def add_output(self, name: str, value: Any, help: str) -> None:
        """Add a Data: a text, a list of numbers, or points with three columns."""
        if isinstance(value, str):
            kind, start = "string", value
        else:
            numbers = np.atleast_1d(np.asarray(value))
            if numbers.dtype.kind not in "biuf" or numbers.ndim > 2:
                expected = "a text, numbers, or points of shape (n, 3)"
                options.raise_invalid_option(self, f"the output '{name}'", expected, value)
            numbers = numbers.astype(float)
            kind, start = ("vector<double>", "vector<Vec3d>")[numbers.ndim - 1], numbers.tolist()
        self.addData(name=name, value=start, type=kind, help=help, group=type(self).__name__)
        data = self.outputs[name] = self.findData(name)
        self._writers[name] = writer(data)

    def write_output(self, name: str, values: np.ndarray) -> None:
        """Set the numbers of an output Data."""
        self._writers[name](values)

    def keep(self, **values: Any) -> None:
        """Set attributes without SOFA's search among the Data, which takes 4 us per attribute."""
        self.__dict__.update(values)

    def hold(self) -> None:
        """Leave the robot in a safe state: called when an event method fails."""

    def start_warnings(self) -> list[str]:
        """Return warnings, in sentences, about implausible settings in the scene at its start.

        A `Session` calls it once, before the first step, and adds the scene's line.
        """
        return []

    def cleanup(self) -> None:
        """Release resources outside the scene: stop motors, close ports. Called once, at the end.

        Also after an error or Ctrl-C, and if the scene could not be loaded; see `Session.close`.
        """

    def about(self) -> dict[str, Any]:
        """Return metadata for recordings and JSON of a run: names of actuators, options."""
        return {}

    def streams(self) -> Iterable[StreamRows]:
        """Return the rows for recordings since the last call, see `StreamRows`.

        A recording calls it after each step, and again if the session closes before its end.
        """
        return ()

    def summary(self, history: History) -> Summary | None:
        """Return the summary of a run, or None; see `scene.report`."""
        del history
        return None

    def plot(self, figure: Any, history: History) -> bool:
        """Draw a run on an empty matplotlib figure.

        Returns:
            True if anything was drawn. Each controller gets a separate file.

        Raises:
            SoftctlError: there is nothing to draw yet.
        """
        del figure, history
        return False

    def markers(self) -> Markers | None:
        """Return the markers for a movie after a step, or None if no step has any."""
        return None


def pauses_on_error(method: EventMethod) -> EventMethod:
    """Decorate an event method of a SceneController so that the scene is safe after its failure.

    SofaPython3 prints the error of an event method and continues the simulation. So the controller
    holds the robot, and pauses the animation, which stops runSofa's window. The error is raised
    again: `softctl` and `Session` stop with it on both backends. An error of the scene, of a
    robot's configuration or of a device gets the line that made the controller.
    """

    @functools.wraps(method)
    def call(self: Any, event: Any) -> None:
        if self.failed:
            return
        try:
            method(self, event)
        except Exception as error:
            self.keep(failed=True)
            self.hold()
            self.root.animate.value = False
            if isinstance(error, SceneError | ConfigError | DeviceError):
                raise type(error)(f"{self.made_at}: {error}") from error
            raise

    return call
