"""The command `softctl score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sofa_softctl.cli.files import check_outputs, load_plugins
from sofa_softctl.cli.options import Json, Plugin, Quiet, Set, print_json
from sofa_softctl.cli.root import app
from sofa_softctl.cli.train import (
    Environment,
    Episodes,
    Store,
    Surrogate,
    TaskName,
    TaskSet,
    maker_from,
)
from sofa_softctl.errors import UsageError


@app.command(
    epilog="Examples:\n\n"
    "  softctl score finger.safetensors scenes/finger.py --episodes 50\n\n"
    "  softctl score roll.safetensors scenes/rolling_ring.py --episodes 50 --baseline\n\n"
    "  softctl score claw.safetensors my_robots:Claw-v0 --set exact=True --episodes 5"
)
def score(
    policy: Annotated[Path, typer.Argument(help="File of softctl train.")],
    environment: Environment,
    task: TaskName = None,
    surrogate: Surrogate = False,
    store: Store = None,
    episodes: Episodes = 20,
    seed: Annotated[int, typer.Option(help="Seed of the first episode.", min=0)] = 0,
    set_: Set = None,
    task_set: TaskSet = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline", help="Also score the scene's own controller in the same episodes."
        ),
    ] = False,
    movie: Annotated[
        Path | None, typer.Option(metavar="FILE.gif|mp4", help="The first episode of a scene.")
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Play episodes with a policy, and print the scores."""
    from sofa_softctl.learning.environments.named import SceneMaker, interface_of
    from sofa_softctl.learning.measuring.scores import score as play
    from sofa_softctl.learning.measuring.scores import score_baseline
    from sofa_softctl.learning.policy.policy import Policy
    from sofa_softctl.view.terminal.learning import LearningTerminal

    check_outputs(reads=[policy], movie=movie)
    load_plugins(plugin, "embedded")
    show = LearningTerminal(quiet=quiet or as_json)
    loaded = Policy.load(policy)
    maker = maker_from(environment, task, set_, task_set, surrogate, store)
    show.prepare(maker)
    if baseline and (surrogate or not isinstance(maker, SceneMaker)):
        raise UsageError("--baseline is for scene files, without --surrogate.")
    loaded.check_fits(interface_of(maker), maker.name)
    env = maker.make_env()
    try:
        with show.bar("Episodes", episodes) as advance:
            scores = {"policy": play(env, loaded.shares, episodes, seed=seed, progress=advance)}
        if baseline:
            with show.bar("Its own controller", episodes) as advance:
                scores["baseline"] = score_baseline(env, episodes, seed=seed, progress=advance)
        if movie is not None:
            show.film(env, loaded.shares, seed, movie)
    finally:
        env.close()
    if as_json:
        baseline_scores = {"baseline": scores["baseline"].to_dict()} if baseline else {}
        print_json({"environment": maker.name, **scores["policy"].to_dict(), **baseline_scores})
    else:
        show.scores(scores)
