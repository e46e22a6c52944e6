"""Batches: copies of a scene that make their steps together, in one process or in several."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sofa_softctl.base.executors.copies import Copies, raise_first
from sofa_softctl.base.fingerprint import Fingerprint
from sofa_softctl.base.processes import defer_interrupts, interrupted_after
from sofa_softctl.errors import SceneError, UsageError
from sofa_softctl.runtime.helper.message import suppress_messages
from sofa_softctl.scene.graph.nodes import data_at, nodes_of, own_state

ELEMENTS = ("edges", "triangles", "quads", "tetrahedra", "hexahedra")
"""Data of topologies that must be equal in all copies."""


@dataclass
class _Copy:
    session: Any
    kept: Any
    """Snapshot to which `restore` returns."""


class SessionBatch:
    """Copies of one scene in the embedded runtime, each with its own parameters and motion.

    `Session.batch` creates one. A copy moves as a `Session` of its parameters, bit for bit,
    whatever the others do and however many processes there are.

    Args:
        create: Returns the session of a copy for its parameters; with workers it is pickled.
        count: Number of copies.
        parameters: Parameters of createScene, for all copies or for each of them.
        workers: Number of processes that share the copies, at most one per core; 0 keeps them in
            this one.

    Raises:
        UsageError: There is no copy, there are more workers than copies or cores, or the number of
            parameters is not that of copies.
        SceneError: The scene is invalid, or the meshes of two copies differ.
        WorkerError: A process was lost.
    """

    def __init__(
        self,
        create: Callable[..., Any],
        count: int,
        *,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        workers: int = 0,
    ) -> None:
        count = max(operator.index(count), 0)
        values: list[Mapping[str, Any]] = [parameters or {}] * count  # type: ignore[list-item]
        if parameters is not None and not isinstance(parameters, Mapping):
            values = [dict(names or {}) for names in parameters]
        if len(values) != count:
            raise UsageError(f"{count} copies have as many parameters. Got: {len(values)}")
        self._copies = Copies(
            partial(_create, create, values), count, workers, name="scene", delete=_close
        )
        try:
            self._check_meshes()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return self._copies.count

    def _check_meshes(self) -> None:
        meshes = self._copies.call(_mesh)
        first = meshes[0]
        for number, mesh in enumerate(meshes):
            differing = [path for path in first | mesh if first.get(path) != mesh.get(path)]
            if differing:
                path = differing[0]
                raise SceneError(
                    f"Copies of a batch have one mesh: '{path}' is {_in_words(mesh, path)} in copy "
                    f"{number}, and {_in_words(first, path)} in copy 0. Leave the parameter that "
                    "changes the mesh as it is, or make a batch of each mesh."
                )

    def step(self, count: int = 1) -> None:
        """Advance all copies by some steps. Ctrl-C waits for their end.

        Raises:
            Exception: The first error of a copy, named in a note, after all others have made their
                steps; see `Session.step`.
            WorkerError: A process was lost.
        """
        outcomes = self._advance(count)
        raise_first(outcomes, self._copies.name)

    def try_step(self, count: int = 1) -> list[Exception | None]:
        """Advance all copies by some steps; return the error that stopped each, or None."""
        return [outcome.error for outcome in self._advance(count)]

    def _advance(self, count: int) -> list[Any]:
        with interrupted_after():
            return self._copies.try_call(partial(_advance, count=count))

    def read(self, path: str) -> np.ndarray:
        """Return a Data of all copies, shape (count, ...).

        Args:
            path: Path of a component or node, and the Data: '/trunk/tip/dofs.position', '/.dt'.

        Raises:
            SceneError: The Data is missing.
        """
        return np.array(self._copies.call(partial(_read, path=path)))

    def write(self, path: str, values: ArrayLike) -> None:
        """Set a Data of all copies.

        Args:
            path: As for `read`.
            values: Value of each copy, shape (count, ...).

        Raises:
            SceneError: The Data is missing, or a value does not fit.
        """
        rows = np.asarray(values)
        if rows.ndim == 0 or len(rows) != len(self):
            shape = "a number" if rows.ndim == 0 else f"shape {rows.shape}"
            raise UsageError(
                f"'{path}' of {len(self)} copies takes shape ({len(self)}, ...). Got: {shape}"
            )
        self._copies.call(partial(_write, path=path), list(rows))

    def call(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Return function(session, *arguments) of all copies.

        Args:
            function: Function of the session of a copy; with workers it is pickled, and so are its
                results.
            columns: For each further argument the values for all copies.

        Raises:
            Exception: The first error, named in a note, after all calls have ended.
        """
        return self._copies.call(partial(_apply, function=function), *columns)

    def keep(self) -> None:
        """Keep the present states, to which `restore` returns; at first those of the start."""
        self._copies.call(_keep_state)

    def restore(self, copies: ArrayLike | None = None) -> None:
        """Return some copies, or all, to the states that were kept.

        Args:
            copies: Numbers of copies, or True for some of them, shape (count,). None = all.
        """
        numbers = np.atleast_1d(np.arange(len(self)) if copies is None else np.asarray(copies))
        if numbers.dtype == bool and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        chosen = set(numbers.tolist())
        if numbers.dtype == bool or not chosen <= set(range(len(self))):
            raise UsageError(
                f"Copies have numbers from 0 to {len(self) - 1}, or a mask has {len(self)} values. "
                f"Got: {copies!r}"
            )
        self._copies.call(_restore, [number in chosen for number in range(len(self))])

    def close(self) -> None:
        """Clean up the controllers of all copies, and end the processes."""
        with defer_interrupts():
            self._copies.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def create_quietly(create: Callable[[], Any], number: int) -> Any:
    """Return create(), without the messages of further copies, which repeat those of copy 0."""
    if number == 0:
        return create()
    with suppress_messages():
        return create()


def _create(create: Callable[..., Any], parameters: Sequence[Any], number: int) -> _Copy:
    session = create_quietly(partial(create, parameters=dict(parameters[number])), number)
    return _Copy(session, session.snapshot())


def _close(copy: _Copy) -> None:
    copy.session.close()


def _mesh(copy: _Copy) -> dict[str, Any]:
    """Return the sizes of states and the digests of elements, by path."""
    content: dict[str, Any] = {}
    for node in nodes_of(copy.session.root):
        if (state := own_state(node)) is not None:
            content[state.getPathName()] = np.shape(state.position.value)
        for component in node.objects:
            for name in ELEMENTS:
                data = component.findData(name)
                if data is not None and len(data.value):
                    path = f"{component.getPathName()}.{name}"
                    content[path] = (*np.shape(data.value), Fingerprint().of(data.value))
    return content


def _in_words(mesh: dict[str, Any], path: str) -> str:
    if path not in mesh:
        return "missing"
    return f"{mesh[path][0]} long" + (" with other nodes" if len(mesh[path]) > 2 else "")


def _advance(copy: _Copy, count: int) -> None:
    copy.session.step(count)


def _read(copy: _Copy, path: str) -> Any:
    return np.array(data_at(copy.session.root, path).value)


def _write(copy: _Copy, value: Any, *, path: str) -> None:
    data_at(copy.session.root, path).value = value


def _apply(copy: _Copy, *arguments: Any, function: Callable[..., Any]) -> Any:
    return function(copy.session, *arguments)


def _keep_state(copy: _Copy) -> None:
    copy.kept = copy.session.snapshot()


def _restore(copy: _Copy, is_chosen: bool) -> None:
    if is_chosen:
        copy.session.restore(copy.kept)
