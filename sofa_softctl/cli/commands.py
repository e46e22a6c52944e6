"""Table of the commands, in the order of `softctl --help`; each is imported when it is used."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import typer

from sofa_softctl.base.registry import Registry
from sofa_softctl.errors import UsageError

_TABLE = {
    "run": ("run:run", "Run a scene: follow the goal, and report the result."),
    "view": (
        "view:view",
        "Show a scene or a recording in the browser: play it, pull its goal, change it.",
    ),
    "check": (
        "check:check",
        "Check whether scenes run here: missing components, warnings, contents.",
    ),
    "warmup": (
        "installed:warmup",
        "Compile kernels now, on all cores, so that first runs start immediately.",
    ),
    "plan": ("plan:plan", "Plan a motion of a scene's robot on a grid of its equilibria."),
    "identify": (
        "identify.command:identify",
        "Find the parameters of a model that fit recordings best, with their uncertainty.",
    ),
    "train": ("train:train", "Train a policy by proximal policy optimisation, and score it."),
    "score": ("train:score", "Play episodes with a policy, and print the scores."),
    "report": (
        "report:report",
        "Write an HTML page of a run or a study: what went wrong, pictures, plots, versions.",
    ),
    "info": (
        "info:info",
        "Show the contents of a recording, a library of motions, a store of equilibria or a mesh.",
    ),
    "components": (
        "installed:components",
        "List the components of the embedded runtime, or the Data of one of them.",
    ),
    "plugins": (
        "installed:plugins",
        "List the plugins and what they register: controllers, QP solvers, components.",
    ),
    "doctor": (
        "installed:doctor",
        "Show the backend that runs here, versions, and how to install what is missing.",
    ),
    "bridge": (
        "bridge:bridge",
        "The hardware bridge: motors and pumps of a robot, described by a TOML file.",
    ),
    "batch": ("batch:batch", "Many runs of a scene, with a row for each run."),
    "library": ("library:library_app", "Libraries of optimal motions."),
    "bench": ("bench:bench", "Speed of scenes, here and compared with SOFA."),
    "record": ("record:record_app", "Recordings of runs and plans."),
    "mesh": ("mesh:mesh_app", "Meshes of soft bodies."),
}
"""Name, "module:attribute" in this folder, and the first line of its help."""

COMMANDS: Registry[Any] = Registry(
    "command", {name: f"cli.{home}" for name, (home, _) in _TABLE.items()}, error=UsageError
)
"""Functions and groups (`typer.Typer`); importing one registers it with `cli.root.app`."""


def first_line(name: str) -> str:
    """Return the first line of a command's help."""
    return _TABLE[name][1] if name in _TABLE else ""


class LazyCommands(MutableMapping[str, Any]):
    """Mapping of commands for Typer; each is imported when it is looked up."""

    def __init__(self, app: typer.Typer, made: dict[str, Any]) -> None:
        """Store the app, and the commands that Typer has made of it."""
        self.app, self.made = app, made

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            if not COMMANDS.has(name):
                raise KeyError(name)
            COMMANDS.find(name)
            self.made |= typer.main.get_command(self.app).commands.made  # type: ignore[attr-defined]
        return self.made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self.made[name] = command

    def __delitem__(self, name: str) -> None:
        del self.made[name]

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*_TABLE, *self.made])

    def __len__(self) -> int:
        return len(list(iter(self)))
