"""Session: load, step, reset, snapshot, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import RecordError, SceneError
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.runtime.helper.source_line import describe
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.channels import DataChannel, channels_of, nodes_of, own_state
from sofa_softctl.scene.loader import build_scene, load_scene
from sofa_softctl.scene.plausibility import implausible
from sofa_softctl.scene.sofa.animate import SofaSteps, controllers_of
from sofa_softctl.scene.strict import strict_start
from sofa_softctl.units import symbol


@dataclass(frozen=True)
class Snapshot:
    """The state of a session at one moment, in memory."""

    time: float
    """Simulated time [time]."""
    step: int
    """Steps since the start."""
    values: Any
    """What the backend needs to go back; not for reading."""


class Session:
    """One scene on one backend.

    Args:
        scene: A scene file, or a function createScene(root, ...).
        backend: 'auto', 'embedded' or 'sofa'.
        parameters: Values of createScene's parameters; texts are converted.
        strict: Whether warnings of loading and of the start, before the first step, are errors.

    Raises:
        SceneError: the scene asks for something that cannot be, or a strict one is warned of.
        BackendError: the backend cannot be had.
    """

    def __init__(
        self,
        scene: str | Path | Callable[..., Any],
        *,
        backend: str | None = None,
        parameters: dict[str, Any] | None = None,
        strict: bool | None = None,
    ) -> None:
        self.backend = find_backend(backend)
        self.parameters = dict(parameters or {})
        self.name = str(getattr(scene, "__name__", scene))
        with strict_start(self.backend.Sofa, strict):
            self._load(scene)
            self._warn()
        self._simulation: Any = self.backend.Sofa.Simulation
        animate = partial(self._simulation.animate, self.root)
        in_sofa = self.backend.name == "sofa"
        self._sofa = SofaSteps(self.backend.Sofa, self.root) if in_sofa else None
        self._animate = self._sofa.animate if self._sofa else animate
        self.step_count = 0
        self._writer: RecordWriter | None = None
        self._channels: list[DataChannel] = []
        self._recording_seconds = 0.0

    def _load(self, scene: str | Path | Callable[..., Any]) -> None:
        """Build and initialise the graph."""
        file = None if callable(scene) else load_scene(scene)
        create: Any = scene if file is None else file.create
        self.duration = None if file is None else file.duration
        self.units = None if file is None else file.units
        self.root: Any = build_scene(create, self.parameters)
        if not self.dt > 0.0:
            where = describe(getattr(self.root.dt, "where", None))
            raise SceneError(f"{where}: dt must be positive, got {self.dt:g}.")
        simulation: Any = self.backend.Sofa.Simulation
        simulation.init(self.root)

    def _warn(self) -> None:
        """Warn of what is implausible as the scene starts."""
        Sofa: Any = self.backend.Sofa
        for component, text in implausible(self.root, self.units):
            Sofa.msg_warning(component, text)
        from sofa_softctl.scene.controller import SceneController  # it imports Sofa

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
        """Go on by some steps.

        Raises:
            DivergedError: the state became NaN or infinite; the recording is closed and kept.
        """
        for _ in range(count):
            try:
                self._animate(self.dt)
            except Exception as error:
                self._close_record(f"stopped: {error}")
                raise
            self.step_count += 1
            self._write()

    def reset(self) -> None:
        """Back to the state after the start, bit for bit on the embedded backend.

        As in SOFA, Data that scripts or the user set stay as they are. A recording ends here.
        """
        self._close_record("complete")
        self._simulation.reset(self.root)
        if self._sofa is not None:  # SOFA resets its own components only
            for controller in self.controllers:
                if hasattr(controller, "reset"):
                    controller.reset()
        self.step_count = 0

    def snapshot(self) -> Snapshot:
        """The present state, to which `restore` can return; embedded backend only."""
        self._need_embedded("snapshot")
        values = _snapshot_module().take(self.root)
        return Snapshot(self.time, self.step_count, values)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state of this session; a recording ends there, as its times increase."""
        self._need_embedded("restore")
        _snapshot_module().put_back(self.root, snapshot.values)
        self._close_record("complete")
        self.step_count = snapshot.step

    def _need_embedded(self, what: str) -> None:
        if self.backend.name != "embedded":
            raise SceneError(f"{what} needs the embedded backend; this session runs in SOFA.")

    @contextmanager
    def recording(self, path: str | Path) -> Iterator[list[DataChannel]]:
        """Record every step to an MCAP file while the context is open.

        Gives the channels. The file is complete or has the suffix .part: see `RecordWriter`.
        """
        if self._writer is not None:
            raise RecordError(f"This session already records to '{self._writer.path}'.")
        metadata = {
            "scene": self.name,
            "backend": self.backend.describe(),
            "softctl": _version(),
            "dt": repr(self.dt),
            **{f"parameter.{name}": str(value) for name, value in self.parameters.items()},
        }
        self._channels = channels_of(self.root)
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"Cannot record to '{path}': {error}.") from error
        self._writer = RecordWriter(Path(path), metadata)
        for channel in self._channels:
            self._writer.add_channel(
                channel.name,
                unit=symbol(self.units, channel.unit),
                shape=channel.shape,
                description=channel.help,
            )
        try:
            yield self._channels
        except BaseException as error:
            self._close_record(f"stopped: {error}")
            raise
        self._close_record("complete")

    def _write(self) -> None:
        if self._writer is not None:
            start = perf_counter()
            values = {channel.name: channel.read() for channel in self._channels}
            self._writer.write(self.time, values)
            self._recording_seconds += perf_counter() - start

    def _close_record(self, status: str) -> None:
        if self._writer is not None:
            self._writer.close(status=status)
            self._writer = None

    @property
    def controllers(self) -> list[Any]:
        """The Python controllers of the scene, in the order of the graph."""
        return controllers_of(self.backend.Sofa, self.root)

    def nodes(self) -> list[Any]:
        """Every node of the graph, the root first."""
        return nodes_of(self.root)

    def dof_count(self) -> int:
        """Degrees of freedom that are not mapped onto others."""
        total = 0
        for node in self.nodes():
            state = own_state(node)
            if state is not None and node.getMechanicalMapping() is None:
                total += np.asarray(state.velocity.value).size
        return total

    def phases(self) -> dict[str, float]:
        """Seconds spent in each phase of all steps so far."""
        found = dict(self._sofa.seconds) if self._sofa is not None else self._clocked()
        if found and self._recording_seconds:
            found["recording"] = self._recording_seconds
        return found

    def _clocked(self) -> dict[str, float]:
        clocks = (getattr(entry, "clock", None) for entry in self.root.objects)
        return next((dict(clock.seconds) for clock in clocks if clock is not None), {})

    def positions(self) -> dict[str, np.ndarray]:
        """Positions of every state by its path, copies."""
        return {
            channel.name: channel.read().copy()
            for channel in channels_of(self.root)
            if channel.name.endswith(".position")
        }


def _snapshot_module() -> Any:
    from sofa_softctl.runtime.simulation import snapshot

    return snapshot


def _version() -> str:
    try:
        return version("sofa-softctl")
    except PackageNotFoundError:
        return "not installed"
