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
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import DataType, Vectors


class Engine(Component):
    """Calls `compute` when an output is read after an input changed."""

    category: ClassVar[str] = "region"
    inputs: ClassVar[tuple[str, ...]] = ()
    """Data that `compute` reads."""
    numbered: ClassVar[dict[str, DataType]] = {}
    """Data that a scene gives with a number: of `input` it makes input1, input2 and so on."""
    counted_by: ClassVar[str] = ""
    """Data that says how many numbered ones count; where it does not, those that were given too."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self._seen: list[int] | None = None
        self._computing = False
        self._ready = False
        super().__init__(*args, **values)

    def assign(self, values: Mapping[str, Any]) -> None:
        """See Base; numbered Data are made as they come, outputs that are given are left out."""
        known = {}
        for name, value in values.items():
            entry = self.data_types.get(self.data_names.get(name, ""))
            if entry is not None and entry.computed:
                continue
            data = self._numbered_data(name)
            if data is None:
                known[name] = value
            elif value is not None:
                data.assign(value, scene_line())
                data.setPersistent(True)
        super().assign(known)

    def init(self) -> None:
        """Compute anew when next asked."""
        self._seen = None

    def reinit(self) -> None:
        """Compute anew."""
        self._seen = None

    def compute(self) -> None:
        """Set the outputs."""
        raise NotImplementedError

    def sources(self) -> list[Data]:
        """Data after whose change the outputs are computed again."""
        every = [self._data[name] for name in self.inputs]
        for radical in self.numbered:
            every += self.numbered_data(radical)
        return every

    def numbered_data(self, radical: str) -> list[Data]:
        """The Data input1, input2, ... of a radical `input`, in order."""
        given = [
            int(name[len(radical) :])
            for name in self._data
            if name.startswith(radical) and name[len(radical) :].isdigit()
        ]
        counter = self._data[self.counted_by]
        count = counter.get() if counter.isSet() else max([counter.get(), *given])
        found = [self._numbered_data(f"{radical}{k + 1}") for k in range(count)]
        return [data for data in found if data is not None]

    @override
    def update_outputs(self) -> None:
        own = vars(self)  # asked for in every step, and Base.__setattr__ takes a while
        if own["_computing"]:
            return
        own["_computing"] = True
        try:
            seen = [data.getCounter() for data in self.sources()]
            if seen != self._seen:
                self.compute()
                own["_seen"] = seen
        finally:
            own["_computing"] = False

    @property
    def coord_size(self) -> int:
        """Numbers in a position: of the template, such as 3 of Vec3 and 7 of Rigid3."""
        return self.value_kind[0] or 3

    @property
    def value_kind(self) -> tuple[int, bool]:
        """How many numbers the template's values have, 0 for mere numbers; whether whole ones."""
        data = self.__dict__.get("_data", {}).get("template")
        template = "" if data is None else data.get().removeprefix("vector<").removesuffix(">")
        found = re.match(r"(Vec|RigidDeriv|Rigid|fixed_array<).*?(\d)(I?)", template)
        if found is None:
            return 0, template in ("i", "I", "int", "unsigned int")
        width = int(found[2])
        if found[1].startswith("Rigid") and width == 3:
            width = 6 if found[1] == "RigidDeriv" else 7
        return width, found[1] == "fixed_array<" or found[3] == "I"

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
    """A list of what the owner's template says: numbers, shape (n,), or vectors (n, width)."""

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__(0, [], help, **options)

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        width, whole = owner.value_kind
        array = reading.whole_numbers(value) if whole else reading.numbers(value)
        return reading.rows(array, width) if width else array.ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The numbers before the first that cannot be read, in whole vectors."""
        width, whole = owner.value_kind
        first = reading.first_whole_numbers(value) if whole else reading.first_numbers(value)
        return reading.whole_rows(first, width) if width else first

    def columns(self, owner: Any) -> int:
        """Numbers in one value."""
        return int(owner.value_kind[0] or 1)

    @override
    def sofa_name(self, owner: Any) -> str:
        width, whole = owner.value_kind
        return super().sofa_name(owner) if width else f"vector<{'i' if whole else 'd'}>"
