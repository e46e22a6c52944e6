"""Base class of controllers, inside SOFA's step as well."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import Sofa.Core
import Sofa.SofaConstraintSolver  # before a scene makes its solver: it brings W() and the like

from sofa_softctl.base import source_line
from sofa_softctl.base.suggestions import nearest
from sofa_softctl.errors import ConfigError, DeviceError, SceneError
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.report import History, Markers, Summary

if TYPE_CHECKING:
    from sofa_softctl.scene.control.streams import StreamRows

SIMILARITY_MIN = 0.75
"""Similarity of an attribute that a script sets to an option, from which on that is meant [-]."""
EventMethod = Callable[[Any, Any], None]


class SceneController(Sofa.Core.Controller):  # type: ignore[misc]
    """A controller that knows the line that made it and gives outputs as Data.

    Args:
        root: Root of the scene.
        args: For Sofa.Core.Controller.
        kwargs: For Sofa.Core.Controller, such as its name.

    Raises:
        SceneError: `root` is no node, or an option is missing or unknown; also in subclasses.
    """

    made_at = ""
    """The scene's line, such as 'scenes/trunk.py:41'."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Check the names of the options, before a constructor can stumble over them."""
        line = source_line.describe(source_line.scene_line())
        options.check_signature(cls, args, kwargs, line)
        made = super().__new__(cls)
        made.__dict__["made_at"] = line
        return made

    def __init__(self, *args: Any, root: Any = None, **kwargs: Any) -> None:
        options.refuse_unknown(type(self), kwargs, self.made_at)
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        if not hasattr(root, "findData"):
            options.wrong(self, "root", "the root node of the scene", root)
        self.root = root
        self.outputs: dict[str, Any] = {}
        """Output Data, by name."""
        self.time, self.dt = root.findData("time"), root.findData("dt")
        self.failed = False
        """Whether an event method failed: the others then do nothing, until a reset."""

    def __getattr__(self, name: str) -> Any:
        # SOFA asks for a method at every event, and searches long for one that is not there.
        if name.startswith("on"):
            raise AttributeError(name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Any = self.__class__
        if name in options.names_of(kind) and name not in vars(self) and self._is_made(name):
            options.wrong(self, name, "set when the controller is made: nothing reads it", value)
        elif name not in vars(self) and not hasattr(kind, name) and "outputs" in vars(self):
            self._warn_of_attribute(name)
        super().__setattr__(name, value)

    def _warn_of_attribute(self, name: str) -> None:
        """Warn of an attribute that nearly is an option, unless a method of its own sets it."""
        frame = source_line.scene_frame()
        if frame is None or frame.f_locals.get("self") is self:
            return
        kind: Any = type(self)
        close = nearest(name, options.names_of(kind), cutoff=SIMILARITY_MIN)
        if close and self._is_made(name):
            line = source_line.describe(source_line.scene_line())
            Sofa.msg_warning(
                self,
                f"{line}: {kind.__name__} has no option '{name}', so this makes an attribute "
                f"that nothing reads. Did you mean '{close[0]}'?",
            )

    def _is_made(self, name: str) -> bool:
        """Tell whether it is in a node; the name of a Data is that of the Data.

        Its path says so: the `getContext()` of a component without a node ends SOFA's process.
        """
        return self.getPathName().startswith("/") and self.findData(name) is None

    def add_output(self, name: str, value: Any, help: str) -> None:
        """Add a Data: a text, numbers (one is a list of one), or points with three columns."""
        if isinstance(value, str):
            kind, start = "string", value
        else:
            numbers = np.atleast_1d(np.asarray(value))
            if numbers.dtype.kind not in "biuf" or numbers.ndim > 2:
                expected = "a text, numbers, or points of shape (n, 3)"
                options.wrong(self, f"the output '{name}'", expected, value)
            numbers = numbers.astype(float)
            kind, start = ("vector<double>", "vector<Vec3d>")[numbers.ndim - 1], numbers.tolist()
        self.addData(name=name, value=start, type=kind, help=help, group=type(self).__name__)
        self.outputs[name] = self.findData(name)

    def keep(self, **values: Any) -> None:
        """Set attributes; in SOFA, each would first be looked for among the Data: 4 us."""
        self.__dict__.update(values)

    def hold(self) -> None:
        """Leave the robot in a safe state: called when an event method fails."""

    def start_warnings(self) -> list[str]:
        """What is implausible of it in the scene as it starts: warnings, in sentences.

        A `Session` asks once, before the first step, and adds the scene's line.
        """
        return []

    def cleanup(self) -> None:
        """Let go of what is outside the scene: stop motors, close ports. Called once, at the end.

        At an error and at Ctrl-C too, and when the scene could not be loaded; see `Session.close`.
        """

    def about(self) -> dict[str, Any]:
        """What records and JSON of a run say of it: names of its actuators, options; for JSON."""
        return {}

    def streams(self) -> Iterable[StreamRows]:
        """Rows for recordings since the last call, with times of their own, see `StreamRows`.

        A recording asks after each step, and once more when the session was closed within it;
        nobody asks where nothing is recorded.
        """
        return ()

    def summary(self, history: History) -> Summary | None:
        """Summary of a run, see `scene.report`; None: there is none."""
        del history
        return None

    def plot(self, figure: Any, history: History) -> bool:
        """Draw a run on an empty matplotlib figure.

        Returns:
            Whether it draws anything. Of several controllers, each gets a file of its own.

        Raises:
            SoftctlError: it would, but there is nothing to draw yet.
        """
        del figure, history
        return False

    def markers(self) -> Markers | None:
        """Markers for a movie after a step; None: none in any step."""
        return None


def pauses_on_error(method: EventMethod) -> EventMethod:
    """An event method of a SceneController that leaves the scene safe when it fails.

    SofaPython3 prints what an event method raises, and the simulation goes on. So the controller
    holds the robot from then on, and pauses the animation, which stops runSofa's window. The error
    is raised on: `softctl` and `Session` stop with it on both backends. An error of the scene, of a
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
