"""Compare a scene on both backends in one run: deviation of the motion, and step times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.processes import interrupted_after
from sofa_softctl.bench.backend_process import BackendProcess
from sofa_softctl.errors import SceneError

BACKENDS = ("embedded", "sofa")
WARM_UP_STEPS = 20
"""Number of steps that do not count in the times: compilation, caches."""
TURN_STEPS = 10
"""Number of steps of one backend before the turn of the other."""


@dataclass(frozen=True)
class Comparison:
    """Result of running a scene on both backends."""

    scene: str
    """Name of the scene."""
    backends: tuple[str, str]
    """Descriptions of the embedded runtime, and of SOFA."""
    dofs: int
    """Degrees of freedom of the independent states."""
    steps: int
    """Number of steps."""
    dt: float
    """Length of a step [time]."""
    size: float
    """Size of the robot: longest side of the bounding box of its largest state [length]."""
    deviation: dict[str, np.ndarray]
    """Largest distance of a node between the backends, by state and step [size], shape (n,)."""
    ms_per_step: tuple[float, float]
    """Median wall time of a step [ms]."""
    phases: tuple[dict[str, float], dict[str, float]]
    """Mean wall time of each phase [ms]."""
    time_unit: str = "time"
    """Unit of dt."""

    @property
    def deviation_max(self) -> float:
        """Largest deviation of all states and steps [size]."""
        return max(float(values.max()) for values in self.deviation.values())

    @property
    def ratio(self) -> float:
        """Time of a step in the embedded runtime divided by the time in SOFA [-]."""
        return self.ms_per_step[0] / self.ms_per_step[1]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, with the largest deviation of each state."""
        largest = {name: float(values.max()) for name, values in self.deviation.items()}
        return asdict(self) | {
            "deviation": largest,
            "deviation_max": self.deviation_max,
            "ratio": self.ratio,
        }


def compare(
    scene: Path,
    steps: int,
    *,
    parameters: Mapping[str, Any] | None = None,
    prepare: Callable[[], None] | None = None,
    on_step: Callable[[int], None] | None = None,
) -> Comparison:
    """Run a scene on both backends, some steps in turn, so that both feel the same machine.

    Ctrl-C ends the comparison after the present turn.

    Args:
        scene: Scene file.
        steps: Number of steps.
        parameters: Values of createScene's parameters.
        prepare: Called in each process when its backend is chosen; it must be picklable.
        on_step: Called after each step with the number of steps done.

    Raises:
        BackendError: SOFA is missing, or its process died.
        KeyboardInterrupt: Ctrl-C came during the first steps, which do not count.
        SoftctlError: The scene raised an error, on the named backend.
    """
    with ExitStack() as stack:
        sides = [
            stack.enter_context(BackendProcess(scene, backend, parameters or {}, prepare))
            for backend in BACKENDS
        ]
        start = [side.about["positions"] for side in sides]
        _check_same_states(*start)
        size = max(float(np.ptp(x[:, :3], axis=0).max()) for x in start[0].values())
        if not size > 0.0:
            raise SceneError(f"'{scene}' has no state of more than one point to compare.")
        warm = min(WARM_UP_STEPS, steps // 2)
        before: list[dict[str, float]] = [{}, {}]
        seconds = np.zeros((2, steps))
        deviation = {name: np.zeros(steps) for name in start[0]}
        step_count = 0

        def run_turn(turn: range) -> None:
            results = [side.steps(len(turn)) for side in sides]
            for step, first, second in zip(turn, *results, strict=True):
                seconds[:, step] = first[0], second[0]
                for name, x in first[1].items():
                    distances = np.linalg.norm((x - second[1][name])[:, :3], axis=1)
                    deviation[name][step] = distances.max() / size
            if on_step is not None:
                on_step(turn.stop)

        try:
            for turn in _turns(warm, steps):
                if turn.start == warm:
                    before = [side.phases() for side in sides]
                with interrupted_after():
                    run_turn(turn)
                    step_count = turn.stop
        except KeyboardInterrupt:
            if step_count <= warm:
                raise
        steps = step_count
        seconds, deviation = seconds[:, :steps], {n: x[:steps] for n, x in deviation.items()}
        after = [side.phases() for side in sides]
        median = 1e3 * np.median(seconds[:, warm:], axis=1)
        return Comparison(
            scene=str(scene),
            backends=(sides[0].about["backend"], sides[1].about["backend"]),
            dofs=sides[0].about["dofs"],
            steps=steps,
            dt=sides[0].about["dt"],
            size=size,
            deviation=deviation,
            ms_per_step=(float(median[0]), float(median[1])),
            phases=(
                _per_step(before[0], after[0], steps - warm),
                _per_step(before[1], after[1], steps - warm),
            ),
            time_unit=sides[0].about["time_unit"],
        )


def _check_same_states(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    for name in sorted(first.keys() | second.keys()):
        shapes = [np.shape(x[name]) if name in x else "missing" for x in (first, second)]
        if shapes[0] != shapes[1]:
            raise SceneError(
                f"The backends built different scenes: {name} is {shapes[0]} in the embedded "
                f"runtime and {shapes[1]} in SOFA."
            )


def _turns(warm: int, steps: int) -> list[range]:
    """Return the steps of each turn."""
    starts = [0, *range(warm, steps, TURN_STEPS)] if warm else [*range(0, steps, TURN_STEPS)]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], steps], strict=True)]


def _per_step(before: dict[str, float], after: dict[str, float], steps: int) -> dict[str, float]:
    return {name: 1e3 * (s - before.get(name, 0.0)) / steps for name, s in after.items()}
