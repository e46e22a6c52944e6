"""Values that are set after the start: where nothing follows them, it is warned of, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import Line, describe

if TYPE_CHECKING:
    from sofa_softctl.runtime.core.component import Component
    from sofa_softctl.runtime.core.data.data import Data


class LateChanges:
    """Of one graph: what was set since the last step."""

    def __init__(self) -> None:
        self._stale: dict[Data, Line | None] = {}
        self._lists: dict[Data, None] = {}
        self.told: set[Data] = set()
        """Of which was warned."""

    def note_stale(self, data: Data, where: Line | None) -> None:
        """A script set it, and its component goes on with the old value until `reinit`, or on."""
        if data not in self.told:
            self._stale[data] = where

    def note_list(self, data: Data) -> None:
        """A script set a list that has an entry for each of something."""
        if data not in self.told:
            self._lists[data] = None

    def forget(self, owner: Component, *, everything: bool) -> None:
        """The component took over what `reinit` reads, or everything."""
        for data in [data for data in self._stale if data.owner is owner]:
            if everything or owner.follows(data) != "start":
                del self._stale[data]

    def warn(self) -> None:
        """Warn of what is not taken over, and of lengths that do not fit, after a step."""
        if not self._stale and not self._lists:
            return
        for data in self._lists:
            if not data.owner.check_length(data, len(data.get())):
                self.told.add(data)
        for data, where in self._stale.items():
            owner: Any = data.owner
            if owner.follows(data) != "step":
                self.told.add(data)
                message.warning(owner, f"{describe(where)}: {_sentence(owner, data)}")
        self._stale.clear()
        self._lists.clear()


def _sentence(owner: Component, data: Data) -> str:
    changed = f"'{data.getName()}' of {owner.describe()} has changed, but"
    if owner.follows(data) == "start":
        return f"{changed} it is read once, at the start: set it in createScene."
    switch = f", or set {data.type.switch}=True" if data.type.switch else ""
    return f"{changed} the component still has the old one: call its reinit(){switch}."
