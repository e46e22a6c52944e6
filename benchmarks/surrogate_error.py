"""How far robots on a surrogate are from those in the scene, by the rate of their tensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command import command_app
from sofa_softctl.cli.app import run_app
from sofa_softctl.cli.files import load_plugins
from sofa_softctl.cli.options import Json, Plugin, Quiet, Scene, Set, parameters, print_json
from sofa_softctl.learning.environments.named import SceneMaker, maker_of
from sofa_softctl.learning.surrogates.line_task import LineTask
from sofa_softctl.learning.task.scene_env import SceneEnv
from sofa_softctl.view.terminal.learning import LearningTerminal

SHARES = (0.1, 0.3, 1.0, 3.0)
"""Rates that are measured when none are given, over the task's."""


@dataclass(frozen=True)
class SurrogateError:
    """Of episodes whose tensions change at one rate.

    An episode's error is the greatest distance of a point between surrogate and scene, over the
    greatest travel of a point in the scene.
    """

    rate: float
    """Greatest change of each tension [force/time]."""
    pull: float
    """Mean error where one action is held [-]."""
    random: float
    """Mean error where each decision has another action, drawn evenly between the bounds [-]."""
    lost: float
    """Share of the latter episodes that the surrogate could not follow to their end."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_surrogate(
    task: LineTask,
    rates: Sequence[float] = (),
    *,
    episodes: int = 5,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> list[SurrogateError]:
    """Play the same actions on a surrogate and in its scene.

    Args:
        task: The surrogate's.
        rates: Greatest changes of tensions [force/time]; none: `SHARES` of the task's own.
        episodes: Of each kind at each rate.
        seed: Of the actions.
        progress: Called after each rate with their number.

    Raises:
        SceneError: No rates are given, and an action has none.
    """
    task.prepare()
    found = []
    for number, rate in enumerate(rates or [share * task.rate for share in SHARES]):
        found.append(_error(task.at_rate(rate), rate, episodes, seed))
        if progress is not None:
            progress(number + 1)
    return found


def _error(task: LineTask, rate: float, episodes: int, seed: int) -> SurrogateError:
    bounds, random = task.interface.action, np.random.default_rng(seed)
    scene = SceneEnv.of_task(task.scene, task.task, scaled=False)
    pulls, shakes, lost = [], [], 0
    try:
        for _ in range(episodes):
            drawn = random.uniform(bounds.low, bounds.high, (task.decisions, len(bounds)))
            error, _ = _apart(task, scene, np.broadcast_to(drawn[0], drawn.shape))
            pulls.append(error)
            error, followed = _apart(task, scene, drawn)
            shakes.append(error)
            lost += not followed
    finally:
        scene.close()
    return SurrogateError(rate, float(np.mean(pulls)), float(np.mean(shakes)), lost / episodes)


def _apart(task: LineTask, scene: SceneEnv, actions: np.ndarray) -> tuple[float, bool]:
    """Error of an episode, and whether the surrogate followed to its end."""
    scene.reset(seed=0)
    state = task.begin(np.random.default_rng(0), 1)
    first = _points(task, scene)
    travel, distance = 0.0, 0.0
    for action in actions:
        _, _, done, cut, _ = scene.step(action)
        state, valid = task.advance(state, action[None])
        if not valid[0]:
            return distance / max(travel, 1e-12), False
        here = _points(task, scene)
        on_map = task.robots(state).points.reshape(-1, 3)
        travel = max(travel, float(np.linalg.norm(here - first, axis=1).max()))
        distance = max(distance, float(np.linalg.norm(on_map - here, axis=1).max()))
        if done or cut:
            break
    return distance / max(travel, 1e-12), True


def _points(task: LineTask, scene: SceneEnv) -> np.ndarray:
    return np.vstack([scene.episode.read(f"{path}.position") for path, _ in task.watched])


def show_surrogate(equilibria: int, found: Sequence[Any]) -> None:
    """Print errors of a surrogate by rates."""
    table = Table(
        title=f"Surrogate of {equilibria:,} equilibria, distance from the scene over the travel",
        title_justify="left",
    )
    for column in ("rate of tensions", "one action held", "random actions", "lost of these"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(f"{one.rate:g}", f"{one.pull:.1%}", f"{one.random:.1%}", f"{one.lost:.0%}")
    Console().print(table)


def surrogate_error(
    path: Scene,
    rate: Annotated[
        list[float] | None,
        typer.Option(
            help="Greatest change of a tension, in the scene's force/time; repeatable. A tenth, a "
            "third, once and three times the task's when left out."
        ),
    ] = None,
    task: Annotated[str | None, typer.Option(help="One of the scene file's LEARNING.")] = None,
    episodes: Annotated[int, typer.Option(help="Of each kind at each rate.", min=1)] = 5,
    set_: Set = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE.store", help="Equilibria, kept for later runs.")
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure how far a surrogate for learning is from its scene, under the same actions."""
    load_plugins(plugin, "embedded")
    if any(not each > 0.0 for each in rate or []):
        raise typer.BadParameter(f"--rate is above 0. Got: {rate}")
    maker = maker_of(str(path), task=task, parameters=parameters(set_), surrogate=True, store=store)
    assert isinstance(maker, SceneMaker)  # of a file
    show = LearningTerminal(quiet=quiet or as_json)
    show.prepare(maker)
    with show.bar("Playing", len(rate or SHARES)) as advance:
        found = measure_surrogate(maker.line_task, rate or (), episodes=episodes, progress=advance)
    equilibria = len(maker.line_task.grid.corners.data)
    if as_json:
        print_json({"equilibria": equilibria, "rates": [each.to_dict() for each in found]})
    elif not quiet:
        show_surrogate(equilibria, found)


app = command_app(
    surrogate_error,
    "python -m benchmarks.surrogate_error scenes/laser_arm.py",
    "python -m benchmarks.surrogate_error scenes/laser_arm.py --rate 500 --rate 5000",
)

if __name__ == "__main__":
    run_app(app)
