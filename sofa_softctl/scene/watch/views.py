"""Attributes of controllers that are views of Data, where values of an earlier step are meant."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.control.steps import controllers_of
from sofa_softctl.scene.plausibility.bodies import at


class KeptViews:
    """Attributes that a controller reads, and then sets to a view of a Data, in every step.

    `self.old = state.position.value` in a step is no copy: in the next one it shows the positions
    of then, so that a difference from it is 0.
    """

    def __init__(self, root: Any) -> None:
        controllers = controllers_of(find_backend().Sofa, root)
        self._kept = [
            (c, name) for c in controllers for name in dict.fromkeys(_kept_names(type(c)))
        ]
        self._before: dict[int, Any] = {}
        self.texts: list[str] = []

    def step(self, steps: int) -> None:
        """Look at them after a step: those that a later step has set anew are kept from it."""
        if steps > 3 or self.texts:
            return
        for number, (controller, name) in enumerate(self._kept):
            value = vars(controller).get(name)
            is_view = isinstance(value, np.ndarray) and not value.flags.writeable
            if not is_view or value.base is None:
                continue
            before = self._before.setdefault(number, value)
            if before is not value and np.shares_memory(before, value):
                self.texts.append(
                    f"{at(controller)}: its attribute '{name}' is a view of a Data, which shows "
                    "present values, not those of the step before: what is compared with it is "
                    "compared with itself. Keep a copy: .value.copy()."
                )


def _kept_names(kind: type) -> Iterator[str]:
    """Attributes of self that a method reads before it sets them."""
    for method in vars(kind).values():
        if not inspect.isfunction(method) or method.__name__ == "__init__":
            continue
        read: set[str] = set()
        own = method.__code__.co_varnames[:1]
        steps = list(dis.get_instructions(method))
        for before, step in zip(steps, steps[1:], strict=False):
            loaded = before.argval if isinstance(before.argval, tuple) else (before.argval,)
            if not before.opname.startswith("LOAD_FAST") or loaded[-1:] != own:
                continue
            if step.opname == "LOAD_ATTR":
                read.add(step.argval)
            elif step.opname == "STORE_ATTR" and step.argval in read:
                yield step.argval
