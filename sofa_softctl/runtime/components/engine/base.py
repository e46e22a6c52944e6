"""Base class of engines: Data computed from other Data when they are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import scene_line
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.data import Data, read_counters
from sofa_softctl.runtime.core.data.types import DataType, Vectors


class Engine(Component):
    """Calls `compute` when an output is read after an input changed."""

    category: ClassVar[str] = "region"
    inputs: ClassVar[tuple[str, ...]] = ()
    """Data that `compute` reads."""
    numbered: ClassVar[dict[str, DataType]] = {}
    """Data that scenes number: `input` stands for input1, input2 and so on."""
    counted_by: ClassVar[str] = ""
    """Data with the number of numbered Data; until it is set, all that the scene gives count."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self._input_counters: list[int] | None = None
        self._is_computing = False
        self._is_ready = False
        super().__init__(*args, **values)

    def assign(self, values: Mapping[str, Any]) -> None:
        """Set Data, adding numbered ones and ignoring outputs."""
        declared = {}
        for name, value in values.items():
            data_type = self.data_types.get(self.data_names.get(name, ""))
            if data_type is not None and data_type.computed:
                continue
            data = self._numbered_data(name)
            if data is None:
                declared[name] = value
            elif value is not None:
                data.assign(value, scene_line())
                data.setPersistent(True)
        super().assign(declared)

    def init(self) -> None:
        """Compute at the next read."""
        self._input_counters = None

    def reinit(self) -> None:
        """Compute at the next read."""
        self._input_counters = None

    def compute(self) -> None:
        """Set the outputs."""
        raise NotImplementedError

    def sources(self) -> list[Data]:
        """Return the Data whose changes require new outputs."""
        data = [self._data[name] for name in self.inputs]
        for radical in self.numbered:
            data += self.numbered_data(radical)
        return data

    def numbered_data(self, radical: str) -> list[Data]:
        """Return the Data input1, input2, ... of a radical `input`, in order."""
        numbers = [
            int(name[len(radical) :])
            for name in self._data
            if name.startswith(radical) and name[len(radical) :].isdigit()
        ]
        counter = self._data[self.counted_by]
        count = counter.get() if counter.isSet() else max([counter.get(), *numbers])
        candidates = [self._numbered_data(f"{radical}{k + 1}") for k in range(count)]
        return [data for data in candidates if data is not None]

    @override
    def update_outputs(self) -> None:
        attributes = vars(self)  # called in every step, and Base.__setattr__ is slow
        if attributes["_is_computing"]:
            return
        attributes["_is_computing"] = True
        try:
            counters = read_counters(self.sources())
            if counters != self._input_counters:
                self.compute()
                attributes["_input_counters"] = counters
        finally:
            attributes["_is_computing"] = False

    @property
    def coord_size(self) -> int:
        """Count of numbers in a position of the template, such as 3 for Vec3 and 7 for Rigid3."""
        return self.value_kind[0] or 3

    @property
    def value_kind(self) -> tuple[int, bool]:
        """Width of the template's values, 0 for scalars, and True if they are integers."""
        data = self.__dict__.get("_data", {}).get("template")
        template = "" if data is None else data.get().removeprefix("vector<").removesuffix(">")
        match = re.match(r"(Vec|RigidDeriv|Rigid|fixed_array<).*?(\d)(I?)", template)
        if match is None:
            return 0, template in ("i", "I", "int", "unsigned int")
        width = int(match[2])
        if match[1].startswith("Rigid") and width == 3:
            width = 6 if match[1] == "RigidDeriv" else 7
        return width, match[1] == "fixed_array<" or match[3] == "I"

    def _numbered_data(self, name: str) -> Data | None:
        match = re.fullmatch(r"(.*?)(\d+)", name)
        if match is None or match[1] not in self.numbered or name in type(self).data_names:
            return None
        if name not in self._data:
            declaration = copy(self.numbered[match[1]])
            declaration.name = name
            self._data[name] = declaration.data_class(declaration, self)
        return self._data[name]


class Values(Vectors):
    """A list with values of the owner's template: scalars, shape (n,), or vectors (n, width)."""

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__(0, [], help, **options)

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        width, is_integer = owner.value_kind
        array = reading.whole_numbers(value) if is_integer else reading.numbers(value)
        return reading.rows(array, width) if width else array.ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return complete vectors of the numbers before the first unreadable one."""
        width, is_integer = owner.value_kind
        first = reading.first_whole_numbers(value) if is_integer else reading.first_numbers(value)
        return reading.whole_rows(first, width) if width else first

    def columns(self, owner: Any) -> int:
        """Return the count of numbers in a value."""
        return int(owner.value_kind[0] or 1)

    @override
    def sofa_name(self, owner: Any) -> str:
        width, is_integer = owner.value_kind
        return super().sofa_name(owner) if width else f"vector<{'i' if is_integer else 'd'}>"
