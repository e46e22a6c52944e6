"""Check many scenes, each in a separate process with a time limit."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from sofa_softctl.check.result import Lack, SceneCheck
from sofa_softctl.errors import SceneError

_SCENE = re.compile(r"^\s*def\s+createScene\s*\(", re.MULTILINE)
_XML = re.compile(r"<\s*Node\b")
SUFFIXES = (".py", ".pyscn", ".scn", ".xml")


def scenes_in(paths: Sequence[Path]) -> list[Path]:
    """Return the scene files of folders, in order of their names, and single files unchanged.

    A Python file is a scene if it defines createScene, an XML file if it holds a <Node>.

    Raises:
        SceneError: A path does not exist.
    """
    scenes: list[Path] = []
    for path in paths:
        if path.is_dir():
            scenes += [file for file in sorted(path.rglob("*")) if _is_scene(file)]
        elif path.exists():
            scenes.append(path)
        else:
            raise SceneError(f"There is no scene file or folder '{path}'.")
    return list(dict.fromkeys(scenes))


def _is_scene(path: Path) -> bool:
    hidden = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    if path.suffix not in SUFFIXES or hidden or not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return bool((_SCENE if path.suffix in (".py", ".pyscn") else _XML).search(text))


def check_scenes(
    scenes: Sequence[Path],
    *,
    steps: int = 5,
    seconds: float = 60.0,
    workers: int = 1,
    parameters: dict[str, Any] | None = None,
    plugins: Sequence[Path] = (),
    backend: str = "embedded",
) -> Iterator[SceneCheck]:
    """Check scenes in order, each in a separate process, so that none affects the others.

    Args:
        scenes: Scene files.
        steps: Steps of each after its start.
        seconds: Time that loading, start and steps may take together [s].
        workers: Processes at a time.
        parameters: Values of createScene's parameters.
        plugins: Plugin files to load before.
        backend: Name of the backend; only the embedded one has placeholders for missing components.
    """
    order = {
        "steps": steps,
        "seconds": seconds,
        "parameters": parameters or {},
        "plugins": [str(plugin) for plugin in plugins],
        "backend": backend,
    }

    running: set[subprocess.Popen[bytes]] = set()

    def check_scene(scene: Path) -> SceneCheck:
        check = _process(order | {"path": str(scene), "with_stand_ins": False}, running)
        if any(lack.kind == "component" for lack in check.lacks) and backend == "embedded":
            complete_check = _process(order | {"path": str(scene), "with_stand_ins": True}, running)
            complete_check.error, complete_check.where, complete_check.runs = (
                check.error,
                check.where,
                False,
            )
            return complete_check if complete_check.lacks else check
        return check

    with ThreadPoolExecutor(max(workers, 1)) as pool:
        try:
            yield from pool.map(check_scene, scenes)
        finally:  # also after an interrupt
            for process in list(running):
                _end_group(process)


_GRACE_TIME = 10.0
"""Time in addition to the limit, to start Python and to end a scene that resists [s]."""


def _process(order: dict[str, Any], running: set[subprocess.Popen[bytes]]) -> SceneCheck:
    path = order["path"]
    with tempfile.TemporaryDirectory(prefix="softctl-") as folder:
        output, error_output = Path(folder) / "check.json", Path(folder) / "stderr.txt"
        command = [sys.executable, "-P", "-m", "sofa_softctl.check.examine"]
        with error_output.open("wb") as stderr:
            process = subprocess.Popen(
                [*command, json.dumps(order | {"output": str(output)})],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=os.environ | {"MPLBACKEND": "Agg"},
                process_group=0,
            )
        running.add(process)
        try:
            status = process.wait(order["seconds"] + _GRACE_TIME)
        except subprocess.TimeoutExpired:
            return SceneCheck(path, error=f"It was not done after {order['seconds']:g} s.")
        finally:
            _end_group(process)
            running.discard(process)
        try:
            return SceneCheck.from_dict(json.loads(output.read_text(encoding="utf-8")))
        except OSError:
            last = (
                error_output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            )
            cause = signal.Signals(-status).name if status < 0 else f"status {status}"
            text = f"The process ended with {cause}"
            error = f"{text}: {last[0]}" if last else f"{text}."
            return SceneCheck(path, error=error, lacks=[Lack("process", "ended", "", error)])


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a scene's process and all processes that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
