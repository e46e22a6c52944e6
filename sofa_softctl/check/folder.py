"""Check many scenes, each in a process of its own that has a time limit."""

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
    """The scene files of folders, in order of their names; files are taken as they are.

    A Python file is a scene if it defines createScene, an XML file if it holds a <Node>.

    Raises:
        SceneError: a path leads nowhere.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [entry for entry in sorted(path.rglob("*")) if _is_scene(entry)]
        elif path.exists():
            found.append(path)
        else:
            raise SceneError(f"There is no scene file or folder '{path}'.")
    return list(dict.fromkeys(found))


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
    """Check scenes, in their order; each in a process of its own, so that none harms the others.

    Args:
        scenes: Scene files.
        steps: Steps of each after its start.
        seconds: Time that loading, start and steps may take together [s].
        workers: Processes at a time.
        parameters: Values of createScene's parameters.
        plugins: Plugin files to load before.
        backend: The backend; stand-ins are made by the embedded one only.
    """
    order = {
        "steps": steps,
        "seconds": seconds,
        "parameters": parameters or {},
        "plugins": [str(plugin) for plugin in plugins],
        "backend": backend,
    }

    running: set[subprocess.Popen[bytes]] = set()

    def one(scene: Path) -> SceneCheck:
        check = _process(order | {"path": str(scene), "with_stand_ins": False}, running)
        if any(lack.kind == "component" for lack in check.lacks) and backend == "embedded":
            whole = _process(order | {"path": str(scene), "with_stand_ins": True}, running)
            whole.error, whole.where, whole.runs = check.error, check.where, False
            return whole if whole.lacks else check
        return check

    with ThreadPoolExecutor(max(workers, 1)) as pool:
        try:
            yield from pool.map(one, scenes)
        finally:  # of an interrupt too
            for process in list(running):
                _end_group(process)


_GRACE = 10.0
"""Time beyond a scene's own, to start Python and to end where a scene does not let go [s]."""


def _process(order: dict[str, Any], running: set[subprocess.Popen[bytes]]) -> SceneCheck:
    path = order["path"]
    with tempfile.TemporaryDirectory(prefix="softctl-") as folder:
        output, said = Path(folder) / "check.json", Path(folder) / "stderr.txt"
        command = [sys.executable, "-P", "-m", "sofa_softctl.check.examine"]
        with said.open("wb") as stderr:
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
            status = process.wait(order["seconds"] + _GRACE)
        except subprocess.TimeoutExpired:
            return SceneCheck(path, error=f"It was not done after {order['seconds']:g} s.")
        finally:
            _end_group(process)
            running.discard(process)
        try:
            return SceneCheck.from_dict(json.loads(output.read_text(encoding="utf-8")))
        except OSError:
            last = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            by = signal.Signals(-status).name if status < 0 else f"status {status}"
            text = f"The process ended with {by}"
            error = f"{text}: {last[0]}" if last else f"{text}."
            return SceneCheck(path, error=error, lacks=[Lack("process", "ended", "", error)])


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a scene's process, and whatever that has started itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
