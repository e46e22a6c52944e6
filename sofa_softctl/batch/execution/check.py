"""Check a study before its runs: its scene, parameters, Data and measures, in a worker."""

from __future__ import annotations

import inspect
import os
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sofa_softctl.base.executors.retry import WorkerEndedError, submit_again
from sofa_softctl.base.files_read import files_read
from sofa_softctl.base.user_module import import_file
from sofa_softctl.batch.execution.beginning import opened, set_data, split
from sofa_softctl.batch.execution.isolation import captured, isolated
from sofa_softctl.batch.study.measures import check_function, check_measures, is_function
from sofa_softctl.batch.study.study import Run, Scenario, Study
from sofa_softctl.errors import ParameterError, SoftctlError, StudyError
from sofa_softctl.runtime.helper import message

SHORT = 0.1
"""Time of a run by the scene's DURATION, below which most of its motion is left out [-]."""
WARNINGS_MAX = 10
"""Warnings of a scene that are said before a study begins."""
_WRITERS = (
    "VTKExporter", "MeshExporter", "STLExporter", "VisualModelOBJExporter", "Monitor", "WriteState",
)  # fmt: skip
"""Components that write files."""


@dataclass(frozen=True)
class Probe:
    """What is known of a study before its runs."""

    sources: tuple[str, ...] = ()
    """Files that a run reads."""
    problem: str = ""
    """Why no run of it can succeed; empty: nothing is known against it."""
    writers: tuple[str, ...] = ()
    """Paths of exporters and monitors of its scene."""
    warnings: tuple[str, ...] = ()
    """Warnings of its first run's start and first step, which no row keeps."""


def check_study(study: Study, executor: Executor) -> tuple[str, ...]:
    """Files that its first run reads; where it hangs or dies, those that the study names.

    A scene that fails with the parameters of the first run, hangs or dies is no error: its other
    runs may be better, and all say so in their rows.

    Raises:
        StudyError: No run can succeed: the scene cannot be loaded, or there is no such parameter,
            Data or measure.
    """
    first = next(study.runs())
    try:
        found = submit_again(executor, probe, study.scenario, first).result()
    except WorkerEndedError:
        return _named_files(study.scenario)
    if found.problem:
        raise StudyError(f"The study '{study.name}': {found.problem}")
    for text in found.warnings:
        message.warning(study.name, f"its scene warns: {text}")
    if found.writers:
        message.warning(
            study.name,
            f"{', '.join(found.writers)}: in a batch, exporters and monitors of the embedded "
            "runtime write nothing; in SOFA, each run overwrites what the one before wrote. Keep "
            "recordings, [keep] record = 'all', and export those.",
        )
    return found.sources


def _named_files(scenario: Scenario) -> tuple[str, ...]:
    functions = [scenario.function, *filter(is_function, scenario.measures.values())]
    files = {scenario.scene, *(text.rpartition(":")[0] for text in functions)} - {""}
    return tuple(sorted(map(os.path.realpath, files)))


def probe(scenario: Scenario, run: Run) -> Probe:
    """Load the scene of a run, do one step, and look for its measures."""
    problem = ""
    writers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    file = scenario.scene or scenario.function.rpartition(":")[0]
    with isolated(), captured(), files_read(file) as sources:
        try:
            if scenario.function:
                _check_function(scenario, run)
            else:
                writers, warnings = _check_scene(scenario, run)
        except StudyError as error:
            problem = str(error)
    return Probe(tuple(sorted(sources)), problem, writers, warnings)


def _check_scene(scenario: Scenario, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the scene; paths of its exporters and monitors, and its warnings."""
    from sofa_softctl.scene.backend.backend import find_backend
    from sofa_softctl.scene.session.loader import arguments_of, load_scene

    find_backend(scenario.backend)
    own, data = split(run.parameters)
    try:
        scene = load_scene(scenario.scene)
        arguments_of(scene.create, own)
    except ParameterError as error:
        raise StudyError(str(error).replace("--set ", "[parameters.NAME] ")) from error
    except (Exception, SystemExit) as error:
        raise _not_loaded("its scene", scenario.scene, error) from error
    for text in filter(is_function, scenario.measures.values()):
        try:
            check_function(text)
        except StudyError:
            raise
        except (Exception, SystemExit) as error:
            raise _not_loaded("the file of measures", text.rpartition(":")[0], error) from error
    try:
        return _check_step(scenario, own, data)
    except StudyError:
        raise
    except (Exception, SystemExit):
        return (), ()  # its row says so


def _check_step(
    scenario: Scenario, own: dict[str, Any], data: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from sofa_softctl.scene.backend.backend import find_backend
    from sofa_softctl.scene.plausibility import implausible
    from sofa_softctl.scene.session.run import run as run_steps
    from sofa_softctl.scene.session.run import step_count

    texts: dict[str, None] = {}
    Sofa: Any = find_backend(scenario.backend).Sofa

    class Listener(Sofa.Helper.MessageHandler):  # type: ignore[misc]
        def process(self, message: dict[str, Any]) -> None:
            if message["type"] == "Warning":
                texts[message["message"]] = None

    with Listener(), opened(scenario, own) as session:
        try:
            steps = step_count(session, scenario.steps, scenario.duration, session.duration or 1.0)
        except SoftctlError as error:
            raise StudyError(str(error)) from error
        if steps * session.dt < SHORT * (session.duration or 0.0):
            texts[
                f"{steps} steps of dt = {session.dt:g} are {steps * session.dt:.3g}, and its "
                f"DURATION is {session.duration:g}: most of its motion is left out. Give the "
                "study more steps."
            ] = None
        set_data(session, data)
        if data:
            texts |= dict.fromkeys(w.text for w in implausible(session.root, session.units))
        summary = run_steps(session, 1)
        check_measures(scenario.measures, summary)
        entries = [entry for node in session.nodes() for entry in node.objects]
        writers = tuple(e.getPathName() for e in entries if e.getClassName() in _WRITERS)
        return writers, tuple(texts)[:WARNINGS_MAX]


def _check_function(scenario: Scenario, run: Run) -> None:
    file, _, name = scenario.function.rpartition(":")
    try:
        function = getattr(import_file(Path(file), "study"), name, None)
    except (Exception, SystemExit) as error:
        raise _not_loaded("its file", file, error) from error
    if not callable(function):
        raise StudyError(f"'{file}' has no function '{name}'.")
    try:
        inspect.signature(function).bind(**run.parameters)
    except TypeError as error:
        raise StudyError(
            f"'{name}' of '{file}' does not take the parameters {', '.join(run.parameters)}: "
            f"{error}."
        ) from error


def _not_loaded(what: str, file: str, error: BaseException) -> StudyError:
    said = str(error) if isinstance(error, SoftctlError) else f"{type(error).__name__}: {error}"
    return StudyError(f"{what} '{file}' cannot be loaded: {said}")
