"""The commands `softctl train` and `score`: policies for tasks of scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sofa_softctl.cli.files import check_name, check_outputs, load_plugins
from sofa_softctl.cli.options import (
    Json,
    Plugin,
    Quiet,
    Set,
    named_numbers,
    note_stop,
    parameters,
    print_json,
)
from sofa_softctl.cli.root import app
from sofa_softctl.errors import UsageError

Environment = Annotated[
    str,
    typer.Argument(
        help="Scene file with LEARNING, or an id of Gymnasium such as softctl/Trunk-v0.",
        metavar="ENV",
    ),
]
TaskName = Annotated[str | None, typer.Option(help="Key of the scene file's LEARNING.")]
TaskSet = Annotated[
    list[str] | None,
    typer.Option("--task-set", metavar="NAME=VALUE", help="Parameter of the task; repeatable."),
]
Surrogate = Annotated[
    bool,
    typer.Option(
        "--surrogate", help="Train on the surrogate that the scene declares in SURROGATE."
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(metavar="FILE.store", help="With --surrogate: equilibria, kept for later runs."),
]
Episodes = Annotated[int, typer.Option(help="Episodes of a score.", min=1)]


@app.command(
    epilog="Examples:\n\n"
    "  softctl train scenes/finger.py --policy finger.safetensors\n\n"
    "  softctl train scenes/trunk.py --task reach --policy reach.safetensors --envs 16 "
    "--plot curve.png\n\n"
    "  softctl train scenes/laser_arm.py --surrogate --policy spot.safetensors\n\n"
    "  softctl train my_robots:Claw-v0 --policy claw.safetensors --seed 1\n\n"
    "  softctl train scenes/finger.py --policy finger.safetensors --resume --steps 100000"
)
def train(
    environment: Environment,
    policy: Annotated[
        Path,
        typer.Option(metavar="FILE.safetensors", help="Policy file; checkpoints are next to it."),
    ],
    task: TaskName = None,
    surrogate: Surrogate = False,
    store: Store = None,
    steps: Annotated[
        int | None, typer.Option(help="Total decisions, in whole iterations.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.", min=0)] = 0,
    envs: Annotated[int | None, typer.Option(help="Environments.", min=1)] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that share the scenes; one for each core by default.", min=0),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            help="Of the algorithm: learning_rate, iteration (decisions in it), minibatch, epochs, "
            "discount, trace, clip, entropy, spread.",
        ),
    ] = None,
    set_: Set = None,
    task_set: TaskSet = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a policy that exists.")] = False,
    episodes: Episodes = 20,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Learning curve.")] = None,
    curve: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Learning curve as numbers.")
    ] = None,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a policy by proximal policy optimisation, and score it.

    A policy that was trained on a surrogate is scored again on the exact model. The policy is
    written after each iteration: Ctrl-C and kills lose at most the current one; continue with
    --resume.
    """
    from sofa_softctl.learning.environments.vector import worker_count
    from sofa_softctl.learning.policy.policy import check_suffix
    from sofa_softctl.learning.training.checkpoint import checkpoint_of
    from sofa_softctl.learning.training.trainer import check_extra, save_curve
    from sofa_softctl.view.terminal.learning import LearningTerminal

    check_extra()
    check_outputs(plot=plot, out=policy, curve=curve)
    check_name(check_suffix, policy)
    for file in (policy, checkpoint_of(policy)):
        if file.exists() and not (force or resume):
            raise UsageError(f"'{file}' exists: go on with --resume, or replace it by --force.")
    load_plugins(plugin, "embedded")
    show = LearningTerminal(quiet=quiet or as_json)
    maker = maker_from(environment, task, set_, task_set, surrogate, store)
    settings = _settings(maker, steps, seed, envs, named_numbers("--setting", setting))
    if workers is None:
        workers = worker_count(settings.envs)
    show.prepare(maker)
    with (
        note_stop(lambda: _kept_results(policy)),
        show.training(settings.steps) as progress,
    ):
        result = _train(maker, settings, workers, policy, resume, progress)
        if curve is not None:
            save_curve(curve, result.curve)
        if plot is not None:
            from sofa_softctl.view.plots.learning import save_learning_plot

            save_learning_plot(plot, result.curve)
        scores = _scores(maker, result.policy, episodes, show)
    if as_json:
        print_json(
            {
                "environment": maker.name,
                "steps": result.curve[-1].steps,
                "seconds": result.curve[-1].seconds,
                "scores": {name: score.to_dict() for name, score in scores.items()},
            }
        )
    else:
        show.scores(scores)
        show.gap(scores)


def _kept_results(policy: Path) -> str:
    """Return a text on the files of a stopped training."""
    from sofa_softctl.learning.training.checkpoint import checkpoint_of

    if not policy.exists():
        return "Nothing was written: the training had not begun."
    text = f"'{policy}' is the policy until now, for softctl score"
    if checkpoint_of(policy).exists():
        return f"{text}: go on with --resume."
    return f"{text}, before the end of the first iteration: begin again with --force."


def maker_from(
    environment: str,
    task: str | None,
    set_: Any,
    task_set: Any,
    surrogate: bool,
    store: Path | None,
) -> Any:
    """Return the maker of an environment from options."""
    from sofa_softctl.learning.environments.named import maker_of

    return maker_of(
        environment,
        task=task,
        parameters=parameters(set_),
        task_parameters=parameters(task_set, "--task-set"),
        surrogate=surrogate,
        store=store,
    )


def _settings(
    maker: Any,
    steps: int | None,
    seed: int,
    envs: int | None,
    values: dict[str, float],
) -> Any:
    """Return settings for many robots in one object, or for a few scenes."""
    from dataclasses import fields

    from sofa_softctl.learning.training.settings import SCENES, Settings

    settings: dict[str, Any] = {} if maker.is_vectorized else dict(SCENES)
    types = {field.name: field.type for field in fields(Settings)}
    for name, value in values.items():
        if name not in types or name == "layers":
            names = ", ".join(name for name in types if name != "layers")
            raise UsageError(f"--setting knows no '{name}'. It has: {names}.")
        settings[name] = int(value) if types[name] == "int" else value
    settings["seed"] = seed
    if steps is not None:
        settings["steps"] = steps
    if envs is not None:
        settings["envs"] = envs
    return Settings(**settings)


def _train(
    maker: Any, settings: Any, workers: int, policy: Path, resume: bool, progress: Any
) -> Any:
    from sofa_softctl.learning.environments.named import interface_of
    from sofa_softctl.learning.training.trainer import train as train_policy

    interface = interface_of(maker)
    vector = maker.vector(settings.envs, workers)
    return train_policy(
        vector,
        interface,
        settings,
        name=maker.identity,
        out=policy,
        resume=resume,
        progress=progress,
    )


SCORE_SEED = 1_000_000
"""Seed of the first episode of a score, which differs from seeds of trainings."""


def _scores(maker: Any, policy: Any, episodes: int, show: Any) -> dict[str, Any]:
    """Score a policy in its environment, and on the exact model if there is one."""
    from sofa_softctl.learning.measuring.scores import score

    scores = {}
    twins = {"its environment": maker}
    exact = getattr(maker, "exact", None)
    if exact is not None:
        twins["the exact model"] = exact
    for name, twin_maker in twins.items():
        env = twin_maker.make_env()
        count = min(episodes, env.costly_episodes) if hasattr(env, "costly_episodes") else episodes
        with show.bar(f"Score in {name}", count) as advance:
            scores[name] = score(env, policy.shares, count, seed=SCORE_SEED, progress=advance)
        env.close()
    return scores


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
