"""Session: load, step, reset, snapshot, record."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sofa_softctl.base.processes import defer_interrupts, interrupted_after
from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import RecordError, SceneError, UsageError
from sofa_softctl.runtime.core.scripted import noted_controllers
from sofa_softctl.runtime.helper.repository import command_line_of
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import controllers_of, nodes_of, own_state, path_of
from sofa_softctl.scene.plausibility import implausible
from sofa_softctl.scene.plausibility.names import unused_warnings
from sofa_softctl.scene.plausibility.strict import (
    gathered_warnings,
    message_collector,
    strict_start,
)
from sofa_softctl.scene.session.condition import Condition
from sofa_softctl.scene.session.loader import (
    arguments_of,
    build_scene,
    clean_up,
    declarations_of,
    is_interrupt,
    load_scene,
    parameters_of,
)
from sofa_softctl.scene.session.step_rows import (
    HISTORY_STEPS_MAX,
    StepRows,
    columns_of,
    read_row,
)

if TYPE_CHECKING:
    from sofa_softctl.record.file import RecordFile
    from sofa_softctl.scene.control.channels import DataChannel
    from sofa_softctl.scene.control.steps import SofaSteps
    from sofa_softctl.scene.session.batch import SessionBatch
    from sofa_softctl.scene.session.recording import Recorder
    from sofa_softctl.scene.session.summary import RunSummary


@dataclass(frozen=True)
class Snapshot:
    """The state of a session at one moment, in memory."""

    time: float
    """Simulated time [time]."""
    step: int
    """Number of steps since the start."""
    values: Any
    """Opaque state of the backend."""


class Session:
    """One scene on one backend; a context manager that cleans up its controllers.

    Args:
        scene: A scene file, or a function createScene(root, ...), which takes UNITS and DURATION
            from where it is defined.
        backend: 'auto', 'embedded' or 'sofa'.
        parameters: Values of createScene's parameters; texts are converted.
        strict: Whether warnings of loading and of the start, before the first step, are errors.
        add: Function that adds components to the root, between building and initialisation.
        history: Number of steps whose outputs are kept for `summary`, in some 2 kB and 25 us a step
            for one inverse controller; after more steps all are dropped. None: no limit; 0: none.

    Raises:
        SceneError: the scene is invalid, or has warnings and is strict.
        BackendError: the backend is not available.
    """

    def __init__(
        self,
        scene: str | Path | Callable[..., Any],
        *,
        backend: str | None = None,
        parameters: dict[str, Any] | None = None,
        strict: bool | None = None,
        add: Callable[[Any], object] | None = None,
        history: int | None = HISTORY_STEPS_MAX,
    ) -> None:
        if not (callable(scene) or isinstance(scene, str | os.PathLike)):
            raise UsageError(
                f"A scene is a file or a function createScene(root, ...). Got: {scene!r:.80}"
            )
        if not isinstance(parameters, Mapping | None):
            raise UsageError(
                f"The parameters of a scene are a dict of their values. Got: {parameters!r:.80}"
            )
        self.backend = find_backend(backend)
        self.parameters = dict(parameters or {})
        self.name = str(getattr(scene, "__name__", scene))
        self._simulation: Any = self.backend.Sofa.Simulation
        self._closed = False
        self.warnings: list[str] = []
        """Warnings of loading, of the start and of the steps, each of them once."""
        self._noting_warnings = message_collector(self.backend.Sofa, self.warnings)
        self.root: Any = None
        try:
            hint = f"'softctl check {self.name}' lists all."
            with (
                strict_start(self.backend.Sofa, strict),
                gathered_warnings(hint),
                self._noting_warnings,
            ):
                with nullcontext() if callable(scene) else command_line_of(Path(scene)):
                    self._load(scene)
                if add is not None:
                    add(self.root)
                self._start()
        except BaseException:
            if self.root is not None:
                clean_up(self.backend.Sofa, self.controllers)
            raise
        self._sofa: SofaSteps | None = None
        if self.backend.name == "sofa":
            from sofa_softctl.scene.control.steps import SofaSteps

            self._sofa = SofaSteps(self.backend.Sofa, self.root)
        animate = partial(self._simulation.animate, self.root)
        self._animate: Callable[[float], None] = self._sofa.animate if self._sofa else animate
        self.step_count = 0
        self.condition = Condition(
            self.root, self.time, units=self.units, duration=self.duration or 0.0
        )
        self._columns = columns_of(self.controllers)
        self._history = StepRows(self, history)
        self._kept_rows = [self._history]  # and those of runs
        self._recorder: Recorder | None = None
        self._recorded: set[Path] = set()
        self._recording_seconds = 0.0  # of recordings that have ended

    def _load(self, scene: str | Path | Callable[..., Any]) -> None:
        create: Any = scene
        if callable(scene):
            self.duration, self.units = declarations_of(scene)
        else:
            file = load_scene(scene)
            create, self.duration, self.units = file.create, file.duration, file.units
        self._create = create
        with noted_controllers() as self._made:
            self.root = build_scene(create, self.parameters)

    def _start(self) -> None:
        """Initialise the graph, and warn of implausible settings."""
        if not self.dt > 0.0:
            location = describe(getattr(self.root.dt, "where", None))
            raise SceneError(f"{location}: dt must be positive, got {self.dt:g}.")
        self._simulation.init(self.root)
        Sofa: Any = self.backend.Sofa
        unused = unused_warnings(self.root, self.name, self._create, self.parameters, self._made)
        self._made = []
        for component, text in (*unused, *implausible(self.root, self.units)):
            Sofa.msg_warning(component, text)
        from sofa_softctl.scene.control.controller import SceneController

        for controller in self.controllers:
            if isinstance(controller, SceneController):
                for text in controller.start_warnings():
                    Sofa.msg_warning(controller, f"{controller.made_at}: {text}")

    @property
    def time(self) -> float:
        """Simulated time [time]."""
        return float(self.root.time.value)

    @property
    def dt(self) -> float:
        """Length of a step [time]."""
        return float(self.root.dt.value)

    def step(self, count: int = 1) -> None:
        """Advance by some steps. Ctrl-C waits for the end of a step, a second one does not.

        Args:
            count: Number of steps; 0 does nothing.

        Raises:
            UsageError: The number is negative.
            SceneError: The session is closed.
            DivergedError: The state became NaN or infinite, or a body exploded.
            RecordError: The recording cannot be written any more.
            Exception: An error in the scene's code. Errors end a recording, which is kept, and get
                the step and the recording as notes.
        """
        if self._closed:
            raise SceneError(
                "This session is closed: its controllers were cleaned up. Make another one."
            )
        if operator.index(count) < 0:
            raise UsageError(f"A session makes 0 or more steps. Got: {count}")
        with self._noting_warnings:
            for _ in range(count):
                with interrupted_after():
                    self._step()

    def _step(self) -> None:
        start, clock = self.time, perf_counter()
        try:
            self._animate(self.dt)
            self.condition.step(self.time)
        except Exception as error:
            self.condition.watched.explain(error)
            number, end = self.step_count + 1, start + self.dt
            error.add_note(f"This was in step {number}, from t = {start:.6g} to {end:.6g}.")
            if self._recorder is not None:
                self._recorder.fail(error)
            raise
        self.step_count += 1
        if self._recorder is not None:
            self._recorder.write(self.time)
        kept = [rows for rows in self._kept_rows if not rows.has_overflowed]
        if kept:
            row = read_row(self.time, perf_counter() - clock, self._columns)
            for rows in kept:
                rows.add(row)

    @contextmanager
    def keeping_rows(self) -> Iterator[StepRows]:
        """Keep the outputs of all steps while the context is open, of controllers added until now.

        The context value is their rows.
        """
        self._columns = columns_of(self.controllers)
        rows = StepRows(self)
        self._kept_rows.append(rows)
        try:
            yield rows
        finally:
            self._kept_rows.remove(rows)

    def summary(self) -> RunSummary:
        """Return what the command line would say of the steps since the start or `reset`.

        Raises:
            UsageError: There was no step, or there were more than `history`.
            DivergedError: A body exploded.
        """
        from sofa_softctl.scene.session.summary import summarise

        if self._history.has_overflowed:
            raise UsageError(
                f"A summary needs the controllers' outputs of all steps, and this session kept "
                f"{self._history.count_max} at most. Make it with Session(..., history=None), or "
                "its steps by sofa_softctl.run(session, steps=...), which returns their summary."
            )
        if not self._history.rows:
            raise UsageError("There is nothing to summarise: the session has made no step yet.")
        self.condition.check(self.time)
        return summarise(self, self._history)

    @classmethod
    def batch(
        cls,
        scene: str | Path | Callable[..., Any],
        count: int,
        *,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        workers: int = 0,
    ) -> SessionBatch:
        """Return copies of a scene in the embedded runtime that are stepped together.

        Args:
            scene: A scene file, or a function createScene(root, ...); with workers it is pickled.
            count: Number of copies.
            parameters: Parameters of createScene, for all copies or for each of them.
            workers: Number of processes that share the copies, at most one per core; 0 keeps them
                in this one.

        Raises:
            UsageError: There is no copy, there are more workers than copies or cores, or the number
                of parameters is not that of copies.
            SceneError: The scene is invalid, or the meshes of two copies differ.
            WorkerError: A process was lost.
        """
        from sofa_softctl.scene.session.batch import SessionBatch

        create = partial(cls, scene, backend="embedded", history=0)
        return SessionBatch(create, count, parameters=parameters, workers=workers)

    def reset(self) -> None:
        """Return to the state after the start, bit for bit on the embedded backend.

        As in SOFA, Data set by scripts or the user stay; attributes of controllers are restored,
        except those set between the steps. A recording ends here.
        """
        self.end_recording()
        self._simulation.reset(self.root)
        if self._sofa is not None:  # SOFA resets its own components only
            self._sofa.reset_controllers()
        self.step_count = 0
        self.condition.restart(self.time)
        self._history.restart()

    def snapshot(self) -> Snapshot:
        """Return the present state for `restore`; embedded backend only."""
        self._need_embedded("snapshot")
        values = _snapshot_module().take_snapshot(self.root)
        return Snapshot(self.time, self.step_count, values)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state of this session; a recording ends there, as its times increase."""
        self._need_embedded("restore")
        _snapshot_module().put_back(self.root, snapshot.values)
        self.end_recording()
        self.step_count = snapshot.step
        self.condition.restart(self.time)
        self._history.drop_after(self.time)

    def _need_embedded(self, feature: str) -> None:
        if self.backend.name != "embedded":
            raise SceneError(f"{feature} needs the embedded backend; this session runs in SOFA.")

    @contextmanager
    def recording(
        self, path: str | Path | RecordFile, *, overwrite: bool = True
    ) -> Iterator[list[DataChannel]]:
        """Record every step to an MCAP file while the context is open.

        The context value is the list of channels. Bodies and controllers added later are included.
        The file is complete or has the suffix .part: see `RecordWriter`. After an error in a step
        it gets no further steps. To record the rows of controllers' `streams` during clean-up,
        such as motors on their way to rest, close the session within the context.

        Args:
            path: Path of the file, or a reserved file.
            overwrite: Replace an existing recording.
        """
        from sofa_softctl.scene.session.provenance import as_texts, provenance
        from sofa_softctl.scene.session.recording import Recorder

        if self._recorder is not None and self._recorder.has_failed:
            self.end_recording()
        if self._recorder is not None:
            raise RecordError(f"This session already records to '{self._recorder.path}'.")
        about = as_texts(provenance(self))
        recorder = Recorder(
            *(self.root, self.controllers, path),
            units=self.units,
            about=about,
            overwrite=overwrite,
        )
        if recorder.path in self._recorded:
            self.backend.Sofa.msg_warning(
                self.name,
                f"'{recorder.path}' was recorded by this session before: that recording is "
                "replaced. Give each a separate name.",
            )
        self._recorded.add(recorder.path)
        self._recorder = recorder
        try:
            yield recorder.channels
        except BaseException as error:
            with defer_interrupts():
                self._stop_recording(error)
            raise
        self.end_recording()

    @property
    def is_recording(self) -> bool:
        """True while a recording is open: `reset`, `restore` and errors end it."""
        return self._recorder is not None

    def end_recording(self, status: str = "") -> None:
        """Complete the recording, if there is one.

        Args:
            status: Status of the run, or "" for complete; an error that ended a step has priority.
        """
        with defer_interrupts():
            recorder, self._recorder = self._recorder, None
            if recorder is not None:
                self._recording_seconds += recorder.seconds
                recorder.end(status)

    def _stop_recording(self, error: BaseException) -> None:
        """Complete the recording after an error, which gets a note if that fails."""
        if self._recorder is not None:
            self._recorder.fail(error)
        try:
            self.end_recording()
        except RecordError as failure:
            if failure is not error:
                error.add_note(str(failure))

    def close(self) -> None:
        """Call `cleanup()` of every controller, once. A second call does nothing.

        Ctrl-C waits for the end; a second one cuts the clean-up of a controller short.

        Raises:
            Exception: The first error of a `cleanup`, after all were called.
            KeyboardInterrupt: Ctrl-C came, and there was no error.
        """
        error = self._clean_up()
        if error is not None:
            raise error

    def _clean_up(self) -> BaseException | None:
        if self._closed:
            return None
        error = None
        try:
            with defer_interrupts():
                self._closed = True
                controllers = [*self.controllers, *self._built_in_controllers()]
                error = clean_up(self.backend.Sofa, controllers)
                if self._recorder is not None:
                    self._recorder.write_streams()
        except (RecordError, KeyboardInterrupt) as failure:
            error = error or failure
        return error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
        else:  # clean-up errors are only reported, but they replace Ctrl-C
            failure = self._clean_up()
            if is_interrupt(error) and failure is not None and not is_interrupt(failure):
                raise failure

    def all_parameters(self) -> dict[str, Any]:
        """Return the parameters of createScene with their values or defaults."""
        create: Any = self._create
        return parameters_of(create) | arguments_of(create, self.parameters)

    def _built_in_controllers(self) -> list[Any]:
        """Return the runtime's controllers, which may hold ports; SOFA closes its own."""
        if self.backend.name != "embedded":
            return []
        return [
            controller
            for controller in self.root.controllers()
            if controller not in self.controllers
        ]

    @property
    def controllers(self) -> list[Any]:
        """Python controllers of the scene, in the order of the graph."""
        return controllers_of(self.backend.Sofa, self.root)

    def nodes(self) -> list[Any]:
        """Return the nodes of the graph, the root first."""
        return nodes_of(self.root)

    def dof_count(self) -> int:
        """Return the number of independent degrees of freedom."""
        total = 0
        for node in self.nodes():
            state = own_state(node)
            if state is not None and node.getMechanicalMapping() is None:
                total += np.asarray(state.velocity.value).size
        return total

    def phases(self) -> dict[str, float]:
        """Return the time spent in each phase, over all steps [s]."""
        seconds = dict(self._sofa.seconds) if self._sofa is not None else self._embedded_phases()
        current = 0.0 if self._recorder is None else self._recorder.seconds
        if seconds and (current or self._recording_seconds):
            seconds["recording"] = self._recording_seconds + current
        return seconds

    def _embedded_phases(self) -> dict[str, float]:
        clocks = (getattr(component, "clock", None) for component in self.root.objects)
        return next((dict(clock.seconds) for clock in clocks if clock is not None), {})

    def positions(self) -> dict[str, np.ndarray]:
        """Return copies of the positions of all states by path."""
        states = (own_state(node) for node in self.nodes())
        return {
            f"{path_of(state)}.position": np.array(state.position.value)
            for state in states
            if state is not None
        }


def _snapshot_module() -> Any:
    from sofa_softctl.runtime.simulation import snapshot

    return snapshot
