"""Base class of the types of Data: the declaration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, overload

import numpy as np

from sofa_softctl.runtime.core.data.data import Data


class DataType:
    """Declaration of one Data: its name, default, meaning and the check of its values."""

    data_class: ClassVar[type[Data]] = Data
    """What SofaPython3 makes of a Data of this type."""

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
        self.computed = computed  # brought up to date by owner.update_outputs()
        self.required = required
        self.auto_link = auto_link  # whether src="@..." of others takes it over
        self.linkable = linkable  # whether a text that starts with @ is a link
        self.optional_link = optional_link  # whether one that leads nowhere counts as not given
        self.follows = follows  # when a change counts: step, reinit, start; see Component.follows
        self.switch = switch  # Bool Data of the owner with which it counts in every step
        self.per = per  # what there is an entry for each of, see Component.count_of
        self.shared = shared  # whether a single entry is that of all
        self.of = of  # what its whole numbers are numbers of, as for `per`; each must exist
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
        raise AttributeError(self.name)  # its Data, an attribute of the instance, is not made yet

    def initial(self, owner: Any) -> Any:
        """The default as a fresh value."""
        return self.convert(self.default, owner)

    def convert(self, value: Any, owner: Any) -> Any:
        """The value in its internal form; ValueError or TypeError when it does not fit."""
        raise NotImplementedError

    def adopt(self, value: Any, owner: Any) -> Any:
        """What it makes of the value of a Data that it follows; errors as of `convert`."""
        return self.convert(value, owner)

    def salvage(self, value: Any, owner: Any, present: Any) -> Any:
        """What SOFA makes of a value that does not fit: what can be read of it, or `present`."""
        del value, owner
        return present

    def rows(self, value: Any) -> list[Any]:
        """A value as a list of rows of numbers, or of words."""
        array = np.asarray(value)
        numbers = array.ndim == 1 and array.dtype.kind in "biuf"
        rows: list[Any] = (array[:, None] if numbers else array).tolist()
        return rows

    def expectation(self, owner: Any) -> str:
        """Expected value, for errors: 'takes one number'."""
        raise NotImplementedError

    def sofa_name(self, owner: Any) -> str:
        """The type as SOFA writes it."""
        return self.expectation(owner)

    def format(self, value: Any) -> str:
        """The value as SOFA writes it."""
        if isinstance(value, np.ndarray):
            return " ".join(_spelt(entry) for entry in value.ravel().tolist())
        return _spelt(value)


def _spelt(value: Any) -> str:
    """A number or text as SOFA writes it: 1.0 is 1."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)
