"""Result of a run in Python: what the command line says, draws and writes, as an object."""

from __future__ import annotations

import operator
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.errors import RecordError, SoftctlError, UsageError
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.record import Record, read_record
from sofa_softctl.scene.session.run import DEFAULT_DURATION, step_count, with_mesh_estimates
from sofa_softctl.scene.session.run import run as run_steps
from sofa_softctl.scene.session.session import Session
from sofa_softctl.scene.session.summary import RunSummary
from sofa_softctl.status import Verdict
from sofa_softctl.view.movie.media import Movie, Picture
from sofa_softctl.view.terminal.run import Terminal

if TYPE_CHECKING:
    from sofa_softctl.view.movie.direction import View

TABLE_NUMBERS_MAX = 30
"""Numbers a step above which a channel is in a table only if it is asked for."""
PICTURE_SIDE_MIN = 16
"""Smallest width or height of a picture [pixel]."""


def run(
    scene: str | Path | Callable[..., Any] | Session,
    *,
    steps: int | None = None,
    duration: float | None = None,
    parameters: dict[str, Any] | None = None,
    backend: str | None = None,
    strict: bool | None = None,
    record: str | Path | None = None,
    keep: bool = True,
    quiet: bool = False,
) -> RunResult:
    """Run a scene, as `softctl run` does, and return what it says, draws and writes.

    Ctrl-C ends the run after the present step; the result holds the steps before, and has
    `summary.interrupted`. Pressed again within a step, it is raised.

    Args:
        scene: A scene file, a function createScene(root, ...), or an open session, which makes
            further steps and stays open.
        steps: Number of steps, or
        duration: simulated time [time]; by default the scene's DURATION, or 2.
        parameters: Values of createScene's parameters.
        backend: 'auto', 'embedded' or 'sofa'.
        strict: Whether warnings of loading and of the start are errors.
        record: File to record to, FILE.mcap; an existing one is replaced.
        keep: Keep every step for tables, pictures and movies: in `record`, or else in a temporary
            file that is deleted with the result, with 19 kB and a tenth of the time of a step of
            `scenes/trunk.py`.
        quiet: Show no progress.

    Returns:
        The result.

    Raises:
        SceneError: The scene is invalid, or the duration is not a multiple of dt.
        ParameterError: createScene has no such parameter.
        UsageError: Both steps and duration are given, or options that an open session has already.
        DivergedError: The state became NaN or infinite, or a body exploded. After this and other
            errors in a step, the recording of the steps before is kept, and a note says where.
        KeyboardInterrupt: Ctrl-C came before the end of the first step, or twice.
    """
    if steps is not None and duration is not None:
        raise UsageError("Give either steps or a duration, not both.")
    options: dict[str, Any] = {"parameters": parameters, "backend": backend, "strict": strict}
    terminal = Terminal(quiet=quiet)
    with ExitStack() as stack:
        store = stack.enter_context(_Store(record, keep))
        if isinstance(scene, Session):
            if given := [name for name, value in options.items() if value is not None]:
                raise UsageError(f"An open session has its {given[0]}: give it to Session(...).")
            session = scene
        else:
            session = Session(scene, **options)
            stack.callback(session.close)
        total = step_count(session, steps, duration, session.duration or DEFAULT_DURATION)
        with ExitStack() as running:
            store.begin(session, running)
            if session is not scene:
                running.enter_context(session)
            observers = [terminal.progress(total)]
            summary = run_steps(session, total, observers, close=session is not scene)
        if summary.interrupted and not quiet:
            terminal.note(
                f"Stopped by {summary.stopped_by} after {summary.steps} of {total} steps.",
                doubt=True,
            )
        return RunResult(with_mesh_estimates(summary, session), store, terminal)


class _Store:
    """File with the steps of a run; a context that deletes a temporary one after an error.

    Args:
        record: File of the user, or None.
        keep: Whether to write a temporary file if there is no other.
    """

    def __init__(self, record: str | Path | None, keep: bool) -> None:
        self._file = None if record is None else RecordFile(record)
        self.path: Path | None = None if self._file is None else self._file.path
        self.reason = "the run was made with keep=False and without record"
        self.folder: Path | None = None
        if self._file is None and keep:
            self.folder = Path(tempfile.mkdtemp(prefix="softctl-"))
            self.path = self.folder / "run.mcap"

    def __enter__(self) -> _Store:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._file is not None:
            self._file.release()
        if kind is not None and self.folder is not None and not any(self.folder.iterdir()):
            shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, session: Session, stack: ExitStack) -> None:
        """Record a session until the stack ends; without a file of the user, if it can be."""
        if self._file is not None:
            stack.enter_context(session.recording(self._file))
        elif self.path is not None:
            try:
                stack.enter_context(session.recording(self.path))
            except RecordError as error:  # nothing to record, or the session records already
                self.path, self.reason = None, str(error).rstrip(".")


class RunResult:
    """Result of `sofa_softctl.run`: what the command line says, draws and writes.

    `print(result)` shows the report, a notebook does so by itself. The scene stays in memory with
    the result.
    """

    def __init__(self, summary: RunSummary, store: _Store, terminal: Terminal) -> None:
        self.summary = summary
        """Values and sentences of the report."""
        self._store, self._terminal = store, terminal
        if store.folder is not None:
            self._delete_at_end(store.folder)

    @property
    def verdict(self) -> Verdict | None:
        """Worst of the controllers' verdicts, or None if no controller has a goal."""
        return self.summary.verdict

    @property
    def reasons(self) -> list[str]:
        """Sentences on why the goals are not reached, or []."""
        return self.summary.reasons

    @property
    def statuses(self) -> dict[str, int]:
        """Number of solves of the inverse controllers by status; see `Status`."""
        return self.summary.statuses

    @property
    def limits_met(self) -> dict[str, int]:
        """Number of steps at each limit."""
        return self.summary.limits_met

    @property
    def warnings(self) -> list[str]:
        """Warnings of loading, of the start and of the steps."""
        return self.summary.warnings

    @cached_property
    def record(self) -> Record:
        """The recording of the run: `channels`, `units`, `time`.

        Raises:
            SoftctlError: Nothing was kept; the message says why.
        """
        if self._store.path is None:
            raise SoftctlError(f"The steps of this run were not kept: {self._store.reason}.")
        return read_record(self._store.path)

    def arrays(
        self, channels: str | Sequence[str] | None = None, every: int = 1
    ) -> dict[str, np.ndarray]:
        """Return channels of the recording over time.

        Args:
            channels: Names such as 'inverse.effort', in which `*` stands for any text, or one of
                them; by default those of at most 30 numbers a step.
            every: Steps from one row to the next; the last step is always a row.

        Returns:
            `time`, shape (n,), and each channel, shape (n, ...).

        Raises:
            RecordError: The recording has no such channel.
            UsageError: `every` is less than 1.
        """
        chosen = self._select(channels, every)
        return {"time": chosen.time, **chosen.channels}

    def to_dataframe(self, channels: str | Sequence[str] | None = None, every: int = 1) -> Any:
        """Return a pandas.DataFrame of the recording: a row a step, a column a number.

        Columns are named as in CSV files, without units, which are in `.attrs["units"]`; the index
        is the time. See `arrays` for the arguments and errors.

        Raises:
            SoftctlError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            from sofa_softctl.base.extras import install_command

            raise SoftctlError(
                f"A DataFrame needs the extra [notebook] ({error}): {install_command('notebook')}. "
                "`arrays` returns the same numbers without it."
            ) from error
        from sofa_softctl.record.export import columns_of

        chosen = self._select(channels, every)
        columns, units = columns_of(chosen)
        frame = pandas.DataFrame(columns, index=pandas.Index(chosen.time, name="time"))
        frame.attrs["units"] = units
        return frame

    def _select(self, channels: str | Sequence[str] | None, every: int) -> Record:
        from sofa_softctl.record.export import select

        if operator.index(every) < 1:
            raise UsageError(f"A table has every first, second, ... step. Got: every={every}")
        if channels is None:
            channels = [
                name
                for name, values in self.record.channels.items()
                if values[0].size <= TABLE_NUMBERS_MAX
            ]
        return select(self.record, [channels] if isinstance(channels, str) else channels, every)

    def plot(self, path: str | Path | None = None) -> Any:
        """Return the plot of the run as a matplotlib Figure, which a notebook shows.

        Args:
            path: File to write in addition, .png, .svg or .pdf, as by `softctl run --plot`.

        Raises:
            SoftctlError: No controller has a plot, or a suffix that cannot be written.
        """
        from sofa_softctl.view.plots.run import draw_run, save_run_plot

        if path is not None:
            save_run_plot(path, self.summary.histories)
        return draw_run(self.summary.histories)

    def picture(
        self,
        path: str | Path | None = None,
        *,
        time: float | None = None,
        size: tuple[int, int] = (640, 480),
        camera: str = "auto",
        transparent: bool = False,
    ) -> Picture:
        """Return a picture of the robot, which a notebook shows.

        Args:
            path: File to write in addition, .png or .jpg.
            time: Time of the nearest step that is shown [time]; by default the end.
            size: Width and height [pixel].
            camera: Side, such as 'front', or azimuth and elevation, '30,20' [degree].
            transparent: Leave out background and clock; PNG only.

        Raises:
            SoftctlError: Nothing was kept, or a suffix that is not known.
            UsageError: A time outside of the run, or a view that is not known.
        """
        from sofa_softctl.view.movie.picture import SAMPLES, check_picture
        from sofa_softctl.view.movie.stage import Stage

        if path is not None:
            check_picture(Path(path), transparent)
        if min(size) < PICTURE_SIDE_MIN:
            raise UsageError(f"A picture has {PICTURE_SIDE_MIN} pixels a side or more. Got: {size}")
        view, times = _view_of(camera), self.record.time
        time = float(times[-1]) if time is None else time
        step = times[1] - times[0] if len(times) > 1 else times[0]
        if not times[0] - 1.01 * step <= time <= times[-1] + step:  # 1.01: the start, with rounding
            raise UsageError(
                f"The run has pictures from t = {times[0]:g} to {times[-1]:g}. Got: {time:g}"
            )
        stage = Stage(self._animation(), size, view=view, samples=SAMPLES)
        frame = int(np.abs(times - time).argmin())
        picture = Picture(stage.picture(frame, transparent=transparent))
        if path is not None:
            picture.save(path)
        return picture

    def movie(
        self,
        path: str | Path | None = None,
        *,
        size: tuple[int, int] = (640, 480),
        camera: str = "auto",
    ) -> Movie:
        """Write a movie of the run in real time, and return it; a notebook shows it.

        Args:
            path: File to write, .gif, .mp4, or .html to turn and replay it; by default a GIF that
                is deleted with the result.
            size: Width and height [pixel].
            camera: Side, such as 'front', or azimuth and elevation, '30,20' [degree].

        Raises:
            SoftctlError: Another suffix, a missing extra, or nothing was kept.
            UsageError: A view that is not known.
        """
        from sofa_softctl.view.browser.standalone import check_suffix, check_writer, save_motion

        path, view = Path(path or self._folder() / "run.gif"), _view_of(camera)
        check_suffix(path)
        check_writer(path)
        animation = self._animation()
        with self._terminal.bar("Rendering", 1) as advance:
            save_motion(animation, path, size=size, view=view, progress=advance)
        return Movie(path)

    def _folder(self) -> Path:
        """Return the folder of files that are deleted with the result."""
        if self._store.folder is None:
            self._store.folder = Path(tempfile.mkdtemp(prefix="softctl-"))
            self._delete_at_end(self._store.folder)
        return self._store.folder

    def _delete_at_end(self, folder: Path) -> None:
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def _animation(self) -> Any:
        from sofa_softctl.view.movie.window import animation_of

        return animation_of(self.record)

    def __str__(self) -> str:
        """Return what the command line prints, as plain text."""
        return str(self.summary)

    def __repr__(self) -> str:
        """Return scene, verdict and length in a line."""
        return repr(self.summary).replace("RunSummary", "RunResult", 1)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def _view_of(camera: str) -> View | None:
    from sofa_softctl.view.movie.direction import parse_view

    try:
        return None if camera == "auto" else parse_view(camera)
    except ValueError as error:
        raise UsageError(f"camera: {error}") from error
