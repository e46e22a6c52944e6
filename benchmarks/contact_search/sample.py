"""A stored sample of inverse problems with contacts, with their global optima.

`python -m benchmarks.contact_search.sample tests/data --scenes scenes` writes it anew:
problems 0 to 47 of seed 0 with up to 4 contacts, and six steps of each of two scenes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.contact_search.corpus import load_corpus, save_corpus
from benchmarks.contact_search.enumeration import Best, enumerate_modes
from benchmarks.success_rates.run_measures import inverse_controller_of
from sofa_softctl.qpcc.problem.problem import InverseProblem
from tests.support.random_contact_problems import kind_of, random_contact_problem

RANDOM = 48
"""Random problems of the sample, from the first on."""
SEED, CONTACTS = 0, 4
"""Of the random problems."""
SCENES = ("rolling_ring.py", "three_fingers.py")
"""Scenes that problems are kept from, with contacts that slide."""
STEPS, EVERY = 150, 25
"""Steps of each scene, and of how many one is kept."""


class SolvedProblem(NamedTuple):
    """A problem with its best answer."""

    name: str
    """Kind and number, or scene and step."""
    problem: InverseProblem
    """The problem."""
    feasible: bool
    """Whether efforts and modes exist that satisfy all limits."""
    objective: float
    """The best one; of an answer with the least violation, if not feasible [displacement^2]."""
    bound: float
    """No answer within all limits has a lower objective [displacement^2]."""
    violation: float
    """Least violation of the soft limits [energy]."""
    proven: bool
    """Whether the enumeration came to its end."""


def load_sample(folder: Path) -> list[SolvedProblem]:
    """The sample that `write_sample` wrote."""
    entries = json.loads((folder / "contact_sample.json").read_text())
    problems = load_corpus(folder / "contact_sample.npz")
    return [SolvedProblem(problem=p, **entry) for p, entry in zip(problems, entries, strict=True)]


def write_sample(folder: Path, scenes: Path) -> None:
    """Make the sample: contact_sample.npz and contact_sample.json."""
    named = [
        (f"{kind_of(k)} {k}", random_contact_problem(SEED, k, CONTACTS)) for k in range(RANDOM)
    ]
    for scene in SCENES:
        named += _steps_of(scenes / scene)
    save_corpus(folder / "contact_sample.npz", [problem for _, problem in named])
    entries = [_entry(name, enumerate_modes(problem)) for name, problem in named]
    (folder / "contact_sample.json").write_text(json.dumps(entries, indent=1) + "\n")


def _steps_of(scene: Path) -> list[tuple[str, InverseProblem]]:
    from sofa_softctl.scene.session.session import Session

    session = Session(scene, parameters={"contacts": "coulomb"})
    controller = inverse_controller_of(session)
    kept = []
    for step in range(1, STEPS + 1):
        session.step()
        if step % EVERY == 0 and controller.problem.contacts is not None:
            kept.append((f"{scene.stem} step {step}", controller.problem))
    return kept


def _entry(name: str, best: Best) -> dict[str, Any]:
    return {
        "name": name,
        "feasible": best.feasible,
        "objective": best.objective,
        "bound": best.bound,
        "violation": best.violation,
        "proven": best.complete,
    }


def _main(
    folder: Annotated[Path, typer.Argument(help="Where to write.")],
    scenes: Annotated[Path, typer.Option(help="Folder of the scenes.")] = Path("scenes"),
) -> None:
    write_sample(folder, scenes)


if __name__ == "__main__":
    typer.run(_main)
