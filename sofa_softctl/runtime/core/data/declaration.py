"""Base class of the types of Data, which are their declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, overload

import numpy as np

from sofa_softctl.runtime.core.data.data import Data


class DataType:
    """Declaration of a Data: its name, default, meaning and the check of its values."""

    data_class: ClassVar[type[Data]] = Data
    """SofaPython3's class for a Data of this type."""

    def __init__(
        self,
        default: Any,
        help: str,
        *,
        unit: str = "",
        aliases: Sequence[str] = (),
        choices: Sequence[str] = (),
        read_only: bool = False,
        computed: bool = False,
        required: bool = False,
        auto_link: bool = True,
        linkable: bool = True,
        optional_link: bool = False,
        follows: str = "step",
        switch: str = "",
        per: str = "",
        shared: bool = True,
        of: str = "",
    ) -> None:
        self.default = default
        self.help = help
        self.unit = unit
        self.aliases = tuple(aliases)
        self.choices = tuple(choices)
        self.read_only = read_only or computed
        self.computed = computed  # updated by owner.update_outputs()
        self.required = required
        self.auto_link = auto_link  # whether src="@..." of others links it
        self.linkable = linkable  # whether a text that starts with @ is a link
        self.optional_link = optional_link  # whether a broken link counts as not set
        self.follows = follows  # when a change counts: step, reinit, start; see Component.follows
        self.switch = switch  # Bool Data of the owner with which it counts in every step
        self.per = per  # items with an entry each, see Component.count_of
        self.shared = shared  # whether a single entry counts for all items
        self.of = of  # items that its numbers refer to; each must exist
        self.may_be_nan = False
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> DataType: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> Data: ...
    def __get__(self, instance: Any, owner: type) -> DataType | Data:
        if instance is None:
            return self
        raise AttributeError(self.name)  # the instance has no such Data yet

    def initial(self, owner: Any) -> Any:
        """Return the default as a new value."""
        return self.convert(self.default, owner)

    def convert(self, value: Any, owner: Any) -> Any:
        """Return the value in its internal form; ValueError or TypeError if it does not fit."""
        raise NotImplementedError

    def adopt(self, value: Any, owner: Any) -> Any:
        """Return the internal form of the value of a followed Data; errors as in `convert`."""
        return self.convert(value, owner)

    def salvage(self, value: Any, owner: Any, present: Any) -> Any:
        """Return SOFA's value for one that does not fit: its readable part, or `present`."""
        del value, owner
        return present

    def rows(self, value: Any) -> list[Any]:
        """Return a value as a list of rows of numbers, or of words."""
        array = np.asarray(value)
        is_list = array.ndim == 1 and array.dtype.kind in "biuf"
        rows: list[Any] = (array[:, None] if is_list else array).tolist()
        return rows

    def expectation(self, owner: Any) -> str:
        """Return the expected value for errors, such as 'takes one number'."""
        raise NotImplementedError

    def sofa_name(self, owner: Any) -> str:
        """Return the type as SOFA writes it."""
        return self.expectation(owner)

    def format(self, value: Any) -> str:
        """Return the value as SOFA writes it."""
        if isinstance(value, np.ndarray):
            return " ".join(_spell(item) for item in value.ravel().tolist())
        return _spell(value)


def _spell(value: Any) -> str:
    """Return a number or text as SOFA writes it: 1.0 is 1."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
