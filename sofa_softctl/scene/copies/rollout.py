"""Rollouts on a copy of a scene, in this process or in one with the embedded runtime."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from typing import IO, Any, Protocol

from sofa_softctl.base.processes import first_calls
from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.runtime.helper.message import suppress_messages
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.copies.state import SceneState, apply_state, state_of
from sofa_softctl.scene.graph.nodes import keep_devices_closed
from sofa_softctl.scene.graph.recipe import Recipe, recipe_of, serialize_recipe

LAST_LINES = 6
"""Number of output lines shown of a process that ended without being stopped."""
_PROGRAM = "from sofa_softctl.scene.copies.rollout import serve; serve()"


class CopyProcess:
    """A copy of a running scene in a child process, which ends with this object.

    Args:
        root: Root of the scene that runs, on either backend.

    Raises:
        SceneError: No copy can be made; the message says why.
    """

    def __init__(self, root: Any) -> None:
        self.original = root
        recipe = serialize_recipe(recipe_of(root))
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, as long as the process
        self._process = _start_process(self._log)
        self._end = weakref.finalize(self, _end, self._process, self._log)
        self._request((first_calls(leave_out="backend"), recipe))

    def state(self) -> SceneState:
        """Return the present state of the running scene."""
        return state_of(self.original)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return work(scene, *arguments), see `Copy.run`; all are pickled."""
        return self._request((work, arguments))

    def _request(self, question: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            message = pickle.dumps(question)
        except Exception as error:  # pickle passes on the errors of an object's methods
            raise SceneError(
                "the scene's parameters, or what its controllers' snapshot() gives, cannot be sent "
                f"to the process of its copy: {error}"
            ) from error
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
            is_answer, answer = pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise SceneError(f"the process of the scene's copy ended: {self._output()}") from error
        if not is_answer:
            raise SceneError(f"the scene's copy in the embedded runtime failed: {answer}")
        return answer

    def _output(self) -> str:
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        return " / ".join(lines[-LAST_LINES:]) or f"exit status {self._process.returncode}"


def _start_process(log: IO[bytes]) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    environment = {**os.environ, "SOFTCTL_BACKEND": "embedded", "PYTHONPATH": paths}
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
        )
    except OSError as error:
        raise SceneError(f"no Python can be started for the scene's copy: {error}") from error


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for file in (process.stdin, process.stdout, log):
        if file is not None:
            with contextlib.suppress(BrokenPipeError):  # a question that was never read
                file.close()


def serve() -> None:
    """Build the scene that stdin names and do work on it until stdin ends; runs in the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which closes stdin
    answers, questions = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # prints must not mix with answers
    scene: Any = None
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        try:
            if scene is None:
                scene, answer = _build_copy(question), None
            else:
                work, arguments = question
                answer = work(scene, *arguments)
            message = pickle.dumps((True, answer))
        except Exception as error:
            name = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
            message = pickle.dumps((False, f"{name}{error}".removesuffix(".")))
        answers.write(message)
        answers.flush()


def _build_copy(question: tuple[list[Callable[[], Any]], Any]) -> Any:
    first, recipe = question
    find_backend("embedded")
    for call in first:  # plugins
        call()
    return CopiedScene(recipe.read())


class Copy(Protocol):
    """A copy of a running scene, in this process or another one."""

    def state(self) -> Any:
        """Return the present state of the running scene."""

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return work(scene, *arguments), where `scene` is the `CopiedScene`.

        Args:
            work: A function of a module.
            arguments: Passed to the function.

        Raises:
            SceneError: The function failed.
        """


def copy_of(root: Any) -> Copy:
    """Return a copy of a running scene, made by the same createScene with the same parameters.

    It is in this process with the embedded runtime, and in a child process with SOFA.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """
    if find_backend().name == "embedded":
        return SceneCopy(root)
    return CopyProcess(root)


class CopiedScene:
    """A scene of the embedded runtime that can be set to states of another one with its recipe.

    Args:
        recipe: Recipe of the scene.
    """

    def __init__(self, recipe: Recipe) -> None:
        from sofa_softctl.runtime.simulation import snapshot
        from sofa_softctl.scene.session.loader import build_scene

        with suppress_messages():  # the scene itself has reported them
            self.root = build_scene(recipe.create, recipe.values)
            keep_devices_closed(self.root)
            find_backend().Sofa.Simulation.init(self.root)  # type: ignore[attr-defined]
        self._start = snapshot.take_snapshot(self.root)

    def twin(self, path: str) -> Any:
        """Return the object at a path of the scene."""
        for node in self.root.walk(everything=True):
            for component in node.objects:
                if component.getPathName() == path:
                    return component
        raise SceneError(f"the copy of the scene has no '{path}'")

    def set_state(self, state: Any) -> None:
        """Set the copy to a state of the scene: `SceneState`, or a snapshot of the runtime."""
        from sofa_softctl.runtime.simulation import snapshot

        if isinstance(state, SceneState):
            snapshot.put_back_known(self.root, self._start)
            apply_state(self.root, state)
            return
        try:
            snapshot.put_back(self.root, state)
        except SceneError:  # objects of contacts that only one of the two has had
            snapshot.put_back_known(self.root, state)
            self.step()
            snapshot.put_back_known(self.root, state)

    def step(self) -> None:
        """Advance the copy by one step."""
        simulation: Any = find_backend().Sofa.Simulation
        with suppress_messages():
            simulation.animate(self.root, float(self.root.dt.value))


class SceneCopy(CopiedScene):
    """A copy in the same process, which moves bit for bit as the scene.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """

    def __init__(self, root: Any) -> None:
        super().__init__(recipe_of(root))
        self.original = root

    def state(self) -> Any:
        """Return the present state of the running scene."""
        from sofa_softctl.runtime.simulation import snapshot

        return snapshot.take_snapshot(self.original)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return work(self, *arguments)."""
        return work(self, *arguments)
