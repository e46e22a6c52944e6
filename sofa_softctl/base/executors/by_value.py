"""Functions of notebooks and interactive sessions for worker processes, which cannot import them.

A pickle has the module and name of a function. `__main__` of a notebook is no file that another
process could import, and a lambda has no name: cloudpickle sends their code.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import current_process
from pathlib import Path
from typing import Any

from sofa_softctl.base.extras import install_command
from sofa_softctl.errors import UsageError

GUARD = (
    "Worker processes import the script that starts them. Put the call below a line: "
    'if __name__ == "__main__":'
)


def portable(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that can be pickled for a worker, with code if it cannot be imported.

    Args:
        function: The function.
        name: Name of what it is for, in messages.

    Raises:
        UsageError: It cannot be sent, or cloudpickle is missing.
    """
    failure: object = "a worker cannot import what a notebook defines"
    try:
        if b"__main__" not in pickle.dumps(function) or _is_main_a_file():
            return function
    except Exception as error:  # pickle passes on the errors of an object's methods
        failure = error
    try:
        import cloudpickle
    except ImportError:
        raise UsageError(
            f"The {name} in other processes need a function that a module or a scene file "
            f"defines; this one cannot be sent: {failure}. Install cloudpickle: "
            f"{install_command('notebook')}. Or take workers=0."
        ) from None
    try:
        return _WithCode(cloudpickle.dumps(function))
    except Exception as error:
        raise UsageError(
            f"The {name} in other processes need a function that can be sent to them: {error}. "
            "Or take workers=0."
        ) from error


class _WithCode:
    """Function as its code, which the worker loads once."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return pickle.loads, (self._data,)

    def __call__(self, *args: Any) -> Any:
        """Call the function, in this process."""
        return pickle.loads(self._data)(*args)


def _is_main_a_file() -> bool:
    """Return True if workers can import the main module: not in a notebook or a pipe."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    has_spec = getattr(main, "__spec__", None) is not None
    return has_spec or (file is not None and Path(file).is_file())


@contextmanager
def without_missing_main() -> Iterator[None]:
    """Hide the name of a main file that does not exist, such as <stdin>, from new workers."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or _is_main_a_file():
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


def refuse_in_a_worker() -> None:
    """Stop a worker that imports a script which starts workers, at its start.

    Raises:
        SystemExit: With `GUARD`.
    """
    if getattr(current_process(), "_inheriting", False):  # of multiprocessing: until it has started
        raise SystemExit(GUARD)
