"""Load, start and step one scene in this process, and write a report.

    python -m sofa_softctl.check.examine '{"path": "scene.py", ...}'

writes the result as JSON to the file that its argument names; `check_scenes` calls it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from sofa_softctl.base.source_line import describe
from sofa_softctl.base.time_limit import time_limit
from sofa_softctl.check.result import Lack, SceneCheck
from sofa_softctl.check.stand_in import stand_ins
from sofa_softctl.errors import (
    MeshError,
    SceneError,
    SoftctlError,
    UnknownComponentError,
    UnknownDataError,
    UnreadableValueError,
)
from sofa_softctl.runtime.core.renamed import family_of
from sofa_softctl.runtime.helper.message import complaints


def examine(
    path: str, *, steps: int, seconds: float, parameters: dict[str, Any], with_stand_ins: bool
) -> SceneCheck:
    """Run a scene as `softctl run` does, and examine it.

    Args:
        path: The scene file.
        steps: Steps to do after the start.
        seconds: Time limit [s].
        parameters: Values of createScene's parameters.
        with_stand_ins: Replace missing components by placeholders; then the scene does not run.
    """
    from sofa_softctl.runtime.helper.message import MessageHandler
    from sofa_softctl.scene.session.session import Session

    check = SceneCheck(path)

    class Listener(MessageHandler):
        def process(self, message: dict[str, Any]) -> None:
            text = message["message"]
            if message["type"] in ("Warning", "Deprecated", "Error", "Fatal"):
                if text not in check.warnings:
                    check.warnings.append(text)

    with Listener(), complaints() as scene_errors, stand_ins() if with_stand_ins else nullcontext():
        try:
            limit = time_limit(seconds, partial(_out_of_time, seconds), interval=1.0)
            with limit, Session(path, parameters=parameters) as session:
                _note_content(session, check)
                for _ in range(steps):
                    session.step()
                    check.steps += 1
                session.condition.check(session.time)
                check.warnings += [finding.text for finding in session.condition.findings()]
                check.rows = _rows(session.root)
        except BaseException as error:
            _end(check, error)
        else:
            check.runs = not any(isinstance(e, UnknownComponentError) for e in scene_errors)
    lacks = [*filter(None, map(_lack, scene_errors)), *check.lacks]
    first = {(lack.kind, lack.name): lack for lack in reversed(lacks)}
    check.lacks = [first[key] for key in dict.fromkeys((lack.kind, lack.name) for lack in lacks)]
    return check


COMPILING = ("numba.core.compiler", "sofa_softctl.base.kernels.cache")
"""Modules whose functions run while kernels are compiled, by this process or another one."""


class OutOfTime(BaseException):
    """The time limit of a scene is reached; the scene's `except Exception` does not catch this."""


def _out_of_time(seconds: float, frame: FrameType | None) -> OutOfTime:
    """Return the error of a scene that is interrupted in this frame after its time [s]."""
    compiles = any(
        caller.f_globals.get("__name__", "").startswith(COMPILING)
        for caller, _ in traceback.walk_stack(frame)
    )
    reason = " It was compiling kernels, as a first run does: check it again." if compiles else ""
    return OutOfTime(f"It was not done after {seconds:g} s.{reason}")


def _note_content(session: Any, check: SceneCheck) -> None:
    """Note the content of the scene."""
    from sofa_softctl.scene.graph.nodes import nodes_of

    units = session.units
    check.units = "" if units is None else str(units)
    check.time_step = session.dt
    solvers: Counter[str] = Counter()
    for node in nodes_of(session.root):
        mapped = {id(e.child) for e in node.of("mapping") if getattr(e, "mechanical", False)}
        for state in node.of("state"):
            check.states += 1
            if id(state) not in mapped:
                check.dofs += state.count * state.deriv_size
        for category in ("animation loop", "ode solver", "linear solver", "constraint solver"):
            solvers.update(component.getClassName() for component in node.of(category))
    check.solvers = [name if n == 1 else f"{n} {name}" for name, n in solvers.items()]


def _rows(root: Any) -> dict[str, int]:
    """Return the number of constraint rows of the last step by the path of their owner."""
    from sofa_softctl.scene.control.system import ComplianceSystem

    if not any(root.of("constraint solver")):
        return {}
    try:
        owners = ComplianceSystem(root).owners()
    except (SceneError, AttributeError):  # a solver without W
        return {}
    return {owner.getPathName(): len(rows) for owner, rows in owners if len(rows)}


def _end(check: SceneCheck, error: BaseException) -> None:
    """Note the error that ended the scene."""
    from sofa_softctl.plugins import user_frames

    frames = user_frames(error)
    check.where = describe((frames[-1].filename, frames[-1].lineno or 0)) if frames else ""
    text = str(error)
    if isinstance(error, SoftctlError | OutOfTime):
        check.error = text
    elif isinstance(error, EOFError):
        check.error = "It waits for input from the keyboard, which there is not in a check."
    elif isinstance(error, SyntaxError):
        check.where = describe((error.filename or check.path, error.lineno or 0))
        check.error = f"{type(error).__name__}: {error.msg}"
    else:
        check.error = f"{type(error).__name__}: {text}".removesuffix(": ")
    if isinstance(error, ModuleNotFoundError) and error.name:
        check.lacks.append(Lack("module", error.name, check.where, check.error))
    elif isinstance(error, UnknownComponentError):
        check.lacks.append(_component(error))
    elif (missing := _missing_file(error, check.path)) or isinstance(error, MeshError):
        location = str(error).partition(": ")[0] if isinstance(error, SceneError) else ""
        check.lacks.append(Lack("file", missing or "mesh", check.where or location, check.error))


def _missing_file(error: BaseException | None, scene: str) -> str:
    """Return the missing file that ended the scene, relative to the scene's folder, or ""."""
    while error is not None:
        if isinstance(error, FileNotFoundError) and error.filename:
            name = os.fsdecode(error.filename)
            return os.path.relpath(name, Path(scene).parent) if os.path.isabs(name) else name
        error = error.__cause__
    return ""


def _component(error: UnknownComponentError) -> Lack:
    location, _, text = str(error).partition(": ")
    return Lack("component", error.component, location, text, family_of(error.component))


def _lack(error: SceneError) -> Lack | None:
    if isinstance(error, UnknownComponentError):
        return _component(error)
    location, _, text = str(error).partition(": ")
    if isinstance(error, UnknownDataError):
        return Lack("Data", f"{error.component}.{error.data}", location, text)
    if isinstance(error, UnreadableValueError):
        return Lack("value", f"{error.component}.{error.data}", location, text)
    return None


def main() -> None:
    """Examine the scene of the first argument's JSON."""
    from sofa_softctl.plugins import load_files
    from sofa_softctl.scene.backend.backend import find_backend

    order = json.loads(sys.argv[1])
    output = Path(order.pop("output"))
    find_backend(order.pop("backend"))
    load_files([Path(file) for file in order.pop("plugins")])
    output.write_text(json.dumps(examine(**order).to_dict()), encoding="utf-8")
    os._exit(0)  # threads of the scene may run for ever


if __name__ == "__main__":
    main()
