"""Rollouts on a copy of a scene: in this process, or in another one of the embedded runtime."""

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
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.copies.state import SceneState, put_motion, state_of
from sofa_softctl.scene.graph.nodes import keep_devices_closed
from sofa_softctl.scene.graph.recipe import Recipe, recipe_of, serialize_recipe

LAST_LINES = 6
"""Lines of what a process printed that are shown when it ends by itself."""
_PROGRAM = "from sofa_softctl.scene.copies.rollout import serve; serve()"


class CopyProcess:
    """A copy of a running scene in a process of its own, which ends with this object.

    Args:
        root: Root of the scene that runs, on either backend.

    Raises:
        SceneError: No copy can be made; the message says why.
    """

    def __init__(self, root: Any) -> None:
        self.original = root
        recipe = serialize_recipe(recipe_of(root))
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, as long as the process
        self._process = _started(self._log)
        self._end = weakref.finalize(self, _end, self._process, self._log)
        self._ask((first_calls(leave_out="backend"), recipe))

    def state(self) -> SceneState:
        """The present state of the scene that runs."""
        return state_of(self.original)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """See `rollout.Copy`; function, arguments and result are pickled."""
        return self._ask((work, arguments))

    def _ask(self, question: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            message = pickle.dumps(question)
        except Exception as error:  # pickle raises whatever an object's own methods raise
            raise SceneError(
                "the scene's parameters, or what its controllers' snapshot() gives, cannot be sent "
                f"to the process of its copy: {error}"
            ) from error
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
            good, answer = pickle.load(self._process.stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise SceneError(f"the process of the scene's copy ended: {self._said()}") from error
        if not good:
            raise SceneError(f"the scene's copy in the embedded runtime failed: {answer}")
        return answer

    def _said(self) -> str:
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        return " / ".join(lines[-LAST_LINES:]) or f"exit status {self._process.returncode}"


def _started(log: IO[bytes]) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
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
            with contextlib.suppress(BrokenPipeError):  # a question that the process never read
                file.close()


def serve() -> None:
    """The process: makes the scene that its input names, then does work on it until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, whose end closes input
    answers, questions = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # what is printed must not mix in
    copied: Any = None
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        try:
            if copied is None:
                copied, answer = _made(question), None
            else:
                work, arguments = question
                answer = work(copied, *arguments)
            message = pickle.dumps((True, answer))
        except Exception as error:
            name = "" if isinstance(error, SoftctlError) else f"{type(error).__name__}: "
            message = pickle.dumps((False, f"{name}{error}".removesuffix(".")))
        answers.write(message)
        answers.flush()


def _made(question: tuple[list[Callable[[], Any]], Any]) -> Any:
    from sofa_softctl.scene.backend.backend import find_backend

    pass

    first, recipe = question
    find_backend("embedded")
    for call in first:  # plugins
        call()
    return CopiedScene(recipe.read())


class Copy(Protocol):
    """A copy of a running scene, wherever it lives."""

    def state(self) -> Any:
        """The present state of the scene that runs."""

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Result of work(copied, *arguments), where `copied` is the `CopiedScene`.

        Args:
            work: A function of a module.
            arguments: For the function.

        Raises:
            SceneError: It failed.
        """


def copy_of(root: Any) -> Copy:
    """A copy of a running scene, made by the same createScene with the same parameters.

    It is in this process where that runs the embedded runtime, and in one of its own beside SOFA.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """
    if find_backend().name == "embedded":
        return SceneCopy(root)
    pass

    return CopyProcess(root)


class CopiedScene:
    """A scene of the embedded runtime that takes the states of another one of the same recipe.

    Args:
        recipe: How to make it.
    """

    def __init__(self, recipe: Recipe) -> None:
        from sofa_softctl.runtime.simulation import snapshot
        from sofa_softctl.scene.session.loader import build_scene

        self.root = build_scene(recipe.create, recipe.values)
        keep_devices_closed(self.root)
        find_backend().Sofa.Simulation.init(self.root)  # type: ignore[attr-defined]
        self._start = snapshot.take(self.root)

    def twin(self, path: str) -> Any:
        """The object at a path of the scene."""
        for node in self.root.walk(everything=True):
            for entry in node.objects:
                if entry.getPathName() == path:
                    return entry
        raise SceneError(f"the copy of the scene has no '{path}'")

    def put(self, state: Any) -> None:
        """Bring the copy into a state of the scene: `SceneState`, or a snapshot of the runtime."""
        from sofa_softctl.runtime.simulation import snapshot

        if isinstance(state, SceneState):
            snapshot.put_back_known(self.root, self._start)
            put_motion(self.root, state)
            return
        try:
            snapshot.put_back(self.root, state)
        except SceneError:  # objects of contacts that only one of the two has met so far
            snapshot.put_back_known(self.root, state)
            self.step()
            snapshot.put_back_known(self.root, state)

    def step(self) -> None:
        """One step of the copy."""
        simulation: Any = find_backend().Sofa.Simulation
        simulation.animate(self.root, float(self.root.dt.value))


class SceneCopy(CopiedScene):
    """A copy in the same process: bit for bit what the scene itself does.

    Args:
        root: Root of the scene that runs.

    Raises:
        SceneError: No copy can be made; the message says why.
    """

    def __init__(self, root: Any) -> None:
        super().__init__(recipe_of(root))
        self.original = root

    def state(self) -> Any:
        """The present state of the scene that runs."""
        from sofa_softctl.runtime.simulation import snapshot

        return snapshot.take(self.original)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Result of work(copied, *arguments), where `copied` is the `CopiedScene`."""
        return work(self, *arguments)
