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
from sofa_softctl.batch.execution.beginning import open_session, set_data, split_parameters
from sofa_softctl.batch.execution.isolation import capture_output, restored_settings
from sofa_softctl.batch.study.measures import check_function, check_measures, is_function
from sofa_softctl.batch.study.study import Run, Scenario, Study
from sofa_softctl.errors import ParameterError, SoftctlError, StudyError
from sofa_softctl.runtime.helper import message

STEPS_RATIO_MIN = 0.1
"""Time of a run by the scene's DURATION, below which a warning is printed [-]."""
WARNINGS_MAX = 10
"""Maximum number of a scene's warnings that are printed before a study begins."""
_WRITERS = (
    "VTKExporter", "MeshExporter", "STLExporter", "VisualModelOBJExporter", "Monitor", "WriteState",
)  # fmt: skip
"""Components that write files."""


@dataclass(frozen=True)
class Probe:
    """Result of checking a study before its runs."""

    sources: tuple[str, ...] = ()
    """Files that a run reads."""
    problem: str = ""
    """Reason why no run can succeed, or ""."""
    writers: tuple[str, ...] = ()
    """Paths of exporters and monitors of its scene."""
    warnings: tuple[str, ...] = ()
    """Warnings of its first run's start and first step, which no row keeps."""


def check_study(study: Study, executor: Executor) -> tuple[str, ...]:
    """Return the files that the first run reads, or the files that the study names if it dies.

    It is not an error if the scene fails, hangs or dies with the parameters of the first run: other
    runs may succeed, and all report it in their rows.

    Raises:
        StudyError: No run can succeed: the scene cannot be loaded, or a parameter, Data or measure
            is missing.
    """
    first = next(study.runs())
    try:
        result = submit_again(executor, probe, study.scenario, first).result()
    except WorkerEndedError:
        return _named_files(study.scenario)
    if result.problem:
        raise StudyError(f"The study '{study.name}': {result.problem}")
    for text in result.warnings:
        message.warning(study.name, f"its scene warns: {text}")
    if result.writers:
        message.warning(
            study.name,
            f"{', '.join(result.writers)}: in a batch, exporters and monitors of the embedded "
            "runtime write nothing; in SOFA, each run overwrites what the one before wrote. Keep "
            "recordings, [keep] record = 'all', and export those.",
        )
    return result.sources


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
    with restored_settings(), capture_output(), files_read(file) as sources:
        try:
            if scenario.function:
                _check_function(scenario, run)
            else:
                writers, warnings = _check_scene(scenario, run)
        except StudyError as error:
            problem = str(error)
    return Probe(tuple(sorted(sources)), problem, writers, warnings)


def _check_scene(scenario: Scenario, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Check the scene; return paths of its exporters and monitors, and its warnings."""
    from sofa_softctl.scene.backend.backend import find_backend
    from sofa_softctl.scene.session.loader import arguments_of, load_scene

    find_backend(scenario.backend)
    scene_parameters, data = split_parameters(run.parameters)
    try:
        scene = load_scene(scenario.scene)
        arguments_of(scene.create, scene_parameters)
    except ParameterError as error:
        raise StudyError(str(error).replace("--set ", "[parameters.NAME] ")) from error
    except (Exception, SystemExit) as error:
        raise _loading_error("its scene", scenario.scene, error) from error
    for text in filter(is_function, scenario.measures.values()):
        try:
            check_function(text)
        except StudyError:
            raise
        except (Exception, SystemExit) as error:
            raise _loading_error("the file of measures", text.rpartition(":")[0], error) from error
    try:
        return _check_step(scenario, scene_parameters, data)
    except StudyError:
        raise
    except (Exception, SystemExit):
        return (), ()  # its row says so


def _check_step(
    scenario: Scenario, parameters: dict[str, Any], data: dict[str, Any]
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

    with Listener(), open_session(scenario, parameters) as session:
        try:
            steps = step_count(session, scenario.steps, scenario.duration, session.duration or 1.0)
        except SoftctlError as error:
            raise StudyError(str(error)) from error
        if steps * session.dt < STEPS_RATIO_MIN * (session.duration or 0.0):
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
        components = [component for node in session.nodes() for component in node.objects]
        writers = tuple(e.getPathName() for e in components if e.getClassName() in _WRITERS)
        return writers, tuple(texts)[:WARNINGS_MAX]


def _check_function(scenario: Scenario, run: Run) -> None:
    file, _, name = scenario.function.rpartition(":")
    try:
        function = getattr(import_file(Path(file), "study"), name, None)
    except (Exception, SystemExit) as error:
        raise _loading_error("its file", file, error) from error
    if not callable(function):
        raise StudyError(f"'{file}' has no function '{name}'.")
    try:
        inspect.signature(function).bind(**run.parameters)
    except TypeError as error:
        raise StudyError(
            f"'{name}' of '{file}' does not take the parameters {', '.join(run.parameters)}: "
            f"{error}."
        ) from error


def _loading_error(label: str, file: str, error: BaseException) -> StudyError:
    text = str(error) if isinstance(error, SoftctlError) else f"{type(error).__name__}: {error}"
    return StudyError(f"{label} '{file}' cannot be loaded: {text}")
