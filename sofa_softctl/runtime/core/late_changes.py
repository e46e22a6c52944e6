"""Values that are set after the start, where a component does not follow them: warned of, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import Line, describe

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.component import Component
    from sofa_softctl.runtime.core.data.data import Data


class LateChanges:
    """Of one graph: what was set since the last step and is not taken over yet."""

    def __init__(self) -> None:
        self._waiting: dict[Data, Line | None] = {}
        self._told: set[Data] = set()

    def note(self, data: Data, where: Line | None) -> None:
        """A script set it, and its component goes on with the old value until `reinit`, or on."""
        if data not in self._told:
            self._waiting[data] = where

    def forget(self, owner: Component, *, all: bool) -> None:
        """The component took over what `reinit` reads, or `all`."""
        for data in [data for data in self._waiting if data.owner is owner]:
            if not data.type.per and (all or owner.follows(data) != "start"):
                del self._waiting[data]

    def warn(self) -> None:
        """Warn of what is not taken over, after a step."""
        for data, where in self._waiting.items():
            owner: Any = data.owner
            if data in self._told:
                continue
            if not owner.check_length(data, len(data.get())):
                self._told.add(data)
            if owner.follows(data) == "step":
                continue
            self._told.add(data)
            message.warning(owner, f"{describe(where)}: {_sentence(owner, data)}")
        self._waiting.clear()


def _sentence(owner: Component, data: Data) -> str:
    changed = f"'{data.getName()}' of {owner.describe()} has changed, but"
    if owner.follows(data) == "start":
        return f"{changed} it is read once, at the start: set it in createScene."
    switch = f", or set {data.type.switch}=True" if data.type.switch else ""
    return f"{changed} the component still has the old one: call its reinit(){switch}."
