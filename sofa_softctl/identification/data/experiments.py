"""Experiments of recordings in files, of a problem by name."""

from __future__ import annotations

from collections.abc import Sequence

from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.effects.selection import with_effects
from sofa_softctl.identification.experiment import Experiment
from sofa_softctl.identification.problem import load_problem


def read_experiments(
    problem: str, entry: str, files: Sequence[str], effects: Sequence[str] = ()
) -> list[Experiment]:
    """The experiments of recordings: what `softctl identify` has its workers make.

    Args:
        problem: Name of a problem, or FILE.py.
        entry: NAME in a file's PROBLEMS; empty: it has one.
        files: Recordings, .csv or .mcap.
        effects: Names or patterns of effects that are switched on.

    Raises:
        IdentificationError: There is no such problem, or data are missing or implausible.
        RecordError: An MCAP file cannot be read.
    """
    made = with_effects(load_problem(f"{problem}:{entry}" if entry else problem), effects)
    return [Experiment.checked(made.experiment(read_recording(file, made))) for file in files]
