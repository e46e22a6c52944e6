"""Inputs of `softctl identify`: a problem with its effects, recordings, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sofa_softctl.cli.files import check_outputs
from sofa_softctl.errors import SoftctlError, UsageError

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Experiment
    from sofa_softctl.identification.model.problem import Problem
    from sofa_softctl.identification.model.recording import Recording


@dataclass(frozen=True)
class ChosenProblem:
    """Problem of a file, with its enabled effects."""

    loaded: Problem
    """The problem as its file defines it."""
    problem: Problem
    """Problem with the effects."""
    file: str
    """File that defines it."""
    problem_name: str
    """Name in PROBLEMS of the file, or "" for the only one."""
    effects: list[str]
    """Names of the effects."""
    deviations: dict[str, str]
    """Standard deviation of each number that is known to within one, as text."""
    files: tuple[str, ...]
    """Files that it was read from, for workers of a cluster."""


def choose_problem(
    name: str, *, with_: list[str] | None, uncertain: list[str] | None, cluster: str
) -> ChosenProblem:
    """Load the problem FILE.py[:NAME], and switch on effects.

    Args:
        name: File and name.
        with_: Names of effects to switch on.
        uncertain: Texts NAME=DEVIATION; effects of these names are switched on.
        cluster: Address of a cluster, or "".
    """
    from sofa_softctl.base.executors.workers import files_sent
    from sofa_softctl.identification.effects.selection import with_effects
    from sofa_softctl.identification.model.experiment import matches
    from sofa_softctl.identification.model.problem import load_problem

    file, _, problem_name = name.partition(":")
    with files_sent(cluster, file) as files:
        loaded = load_problem(name)
    deviations = pairs_of(uncertain, "--uncertain needs NAME=DEVIATION")
    parameters = [parameter.name for parameter in loaded.parameters]
    unknown = [key for key in deviations if not any(matches(name, key) for name in parameters)]
    effects = [*(with_ or []), *unknown]
    problem = with_effects(loaded, effects)
    return ChosenProblem(loaded, problem, file, problem_name, effects, deviations, tuple(files))


@dataclass
class Recordings:
    """Recordings that are read for a problem, with notes."""

    problem: Problem
    note: Callable[[str], None]
    """Called with each note on a recording."""
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Notes by the names of recordings."""
    measured: list[Recording] = field(default_factory=list)
    """Recordings of the robot, in the order in which they were read."""

    def experiments(self, files: Sequence[Path], *, planned: bool = False) -> list[Experiment]:
        """Read recordings, and return the models of them.

        Args:
            files: Files of the recordings.
            planned: Whether they are motions that could be recorded.
        """
        from sofa_softctl.identification.data.files import read_recording
        from sofa_softctl.identification.model.experiment import Experiment

        experiments = []
        for file in files:
            recording = read_recording(file, self.problem, planned=planned)
            experiment = Experiment.checked(self.problem.experiment(recording))
            self.notes[recording.name] = (*recording.notes, *experiment.notes)
            for note in self.notes[recording.name]:
                self.note(f"{recording.name}: {note}")
            experiments.append(experiment)
            if not planned:
                self.measured.append(recording)
        return experiments


def check_request(
    *,
    data: list[Path] | None,
    reads: Sequence[Path],
    several: bool,
    starts: int,
    bootstrap: int,
    cluster: str,
    design: Path | None,
    of_design: bool,
    report: Path | None,
) -> None:
    """Refuse contradictory options, and outputs that cannot be written.

    Args:
        data: Recordings to fit.
        reads: All files that are read.
        several: Whether workers were requested.
        starts: Number of searches.
        bootstrap: Number of refits.
        cluster: Address of a cluster, or "".
        design: File of the designed motion.
        of_design: Whether options of the designed motion were given.
        report: Folder of the report.

    Raises:
        UsageError: The options contradict each other.
        SoftctlError: A file cannot be written.
    """
    if not data:
        raise UsageError(
            "There is nothing to identify from: give recordings, --data FILE, or --template "
            "FILE.csv for one to be filled."
        )
    if several and starts == 1 and not bootstrap:
        option = "--cluster searches" if cluster else "--workers search"
        raise UsageError(
            f"{option} from several starts, or refit: give --starts N, too, or --bootstrap N."
        )
    if design is None and of_design:
        raise UsageError("--duration and --amplitude are of a designed motion: give --design FILE.")
    if design is not None:
        _check_design(design, reads)
    if report is not None:
        _check_report(report, reads)


def _check_report(folder: Path, reads: Sequence[Path]) -> None:
    """Raise SoftctlError if a report cannot be written to the folder."""
    from sofa_softctl.view.terminal.identification import NUMBERS, PAGE

    if folder.exists() and not folder.is_dir():
        raise SoftctlError(
            f"Cannot write '{folder / PAGE}': '{folder}' is a file. Expected a folder for the "
            "report: --report DIR."
        )
    for name in (PAGE, NUMBERS):
        check_outputs(reads=reads, report=folder / name)


def _check_design(path: Path, reads: Sequence[Path]) -> None:
    """Raise SoftctlError if the designed motion cannot be written."""
    if path.suffix.lower() != ".csv":
        raise UsageError(f"--design writes a CSV file. Got: '{path}'. Expected FILE.csv.")
    check_outputs(reads=reads, design=path)


def ranges_of(texts: list[str] | None) -> dict[str, tuple[float, float]]:
    """Return the range of each input that --amplitude names."""
    ranges = {}
    for text in texts or []:
        name, _, value = text.partition("=")
        try:
            low, high = map(float, value.split(":"))
        except ValueError:
            raise UsageError(f"--amplitude needs INPUT=LOW:HIGH, got '{text}'.") from None
        ranges[name.strip()] = (low, high)
    return ranges


def pairs_of(texts: list[str] | None, needed: str) -> dict[str, str]:
    """Return the values of an option NAME=VALUE by their names."""
    values = {}
    for text in texts or []:
        name, _, value = text.partition("=")
        if not (name.strip() and value.strip()):
            raise UsageError(f"{needed}, got '{text}'.")
        values[name.strip()] = value.strip()
    return values
