"""Parameters with old names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import Sofa


def deprecated_alias(**aliases: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of a function that also takes parameters by old names, old="new"."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **values: Any) -> Any:
            for old in aliases.keys() & values.keys():
                new = aliases[old]
                if new in values:
                    raise TypeError(
                        f"{function.__name__}: '{old}' is the old name of '{new}'; give one of "
                        "them, not both."
                    )
                Sofa.msg_deprecated(
                    function.__name__, f"The parameter '{old}' is now called '{new}'."
                )
                values[new] = values.pop(old)
            return function(*args, **values)

        return wrapper

    return decorate
