"""The swimmer as an environment of Gymnasium."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from softctl_swimmer.learning.task import Start, SwimTask
from softctl_swimmer.planning.study import Study, prepare


def make_env(
    body: str = "fish",
    vertices: int = 98,
    *,
    exact: bool = False,
    disturbance: float = 1.0,
    store: str | Path | None = None,
    render_mode: str | None = None,
) -> Any:
    """Return an environment of one swimmer; Gymnasium's entry point.

    Args:
        body: Key of `bodies.BODIES`.
        vertices: Number of vertices of each link's skin; 353 in the paper.
        exact: Solve the flow in each step, instead of using the map of its solutions.
        disturbance: Factor of the deviations of `Start` from rest, straight ahead [-].
        store: File with solutions of the flow; by default in the user's cache.
        render_mode: None.
    """
    from sofa_softctl.learning import SurrogateEnv

    env = SurrogateEnv(task(body, vertices, exact, disturbance, store), render_mode=render_mode)
    if exact:
        env.costly_episodes = 1  # minutes each
    return env


def make_vector(
    num_envs: int = 64,
    body: str = "fish",
    vertices: int = 98,
    *,
    exact: bool = False,
    disturbance: float = 1.0,
    store: str | Path | None = None,
    **options: Any,
) -> Any:
    """Return many swimmers; arguments as for `make`, options as of `SurrogateVectorEnv`."""
    from sofa_softctl.learning import SurrogateVectorEnv

    return SurrogateVectorEnv(task(body, vertices, exact, disturbance, store), num_envs, **options)


def task(
    body: str, vertices: int, exact: bool, disturbance: float, store: str | Path | None
) -> SwimTask:
    """Return the task of an environment; the map is computed or read."""
    from softctl_swimmer.learning.exact import NearbySolutions

    study = _study(body, vertices, Path(store) if store is not None else default_store())
    mapped = study.dynamics.embedding.masses
    masses = NearbySolutions(study.exact, mapped) if exact else None
    return SwimTask(study, masses, start=Start().times(disturbance))


@cache
def _study(body: str, vertices: int, store: Path) -> Study:
    return prepare(body, vertices, store=store)


def default_store() -> Path:
    """Return the default file for solutions, in the user's cache; create its folder."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "sofa_softctl"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "swimmer.store"
