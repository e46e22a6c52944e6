"""Base class of engines: Data computed from other Data when they are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import DataType
from sofa_softctl.runtime.helper.source_line import scene_line


class Engine(Component):
    """Calls `compute` when an output is read after an input changed."""

    category: ClassVar[str] = "region"
    inputs: ClassVar[tuple[str, ...]] = ()
    """Data that `compute` reads."""
    numbered: ClassVar[dict[str, DataType]] = {}
    """Data that a scene gives with a number: of `input` it makes input1, input2 and so on."""
    counted_by: ClassVar[str] = ""
    """Data that says how many numbered ones count; by default as many as were given."""
    default_width: ClassVar[int] = 3
    """Numbers in each value where the template does not say."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self._seen: list[int] | None = None
        self._computing = False
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
        numbers = sorted(
            int(name[len(radical) :])
            for name in self._data
            if name.startswith(radical) and name[len(radical) :].isdigit()
        )
        if self.counted_by and self._data[self.counted_by].isSet():
            numbers = list(range(1, self._data[self.counted_by].get() + 1))
        found = [self._numbered_data(f"{radical}{number}") for number in numbers]
        return [data for data in found if data is not None]

    def update_outputs(self) -> None:
        """See Base."""
        if self._computing:
            return
        self._computing = True
        try:
            seen = [data.getCounter() for data in self.sources()]
            if seen != self._seen:
                self.compute()
                self._seen = seen
        finally:
            self._computing = False

    @property
    def coord_size(self) -> int:
        """Numbers in each value: of the template, such as 3 of Vec3 and 7 of Rigid3."""
        data = self.__dict__.get("_data", {}).get("template")
        template = "" if data is None else data.get()
        found = re.search(r"(Vec|Rigid)(\d)", template)
        if found is None:
            return 1 if template else self.default_width
        return int(found[2]) if found[1] == "Vec" else {"2": 3, "3": 7}.get(found[2], 7)

    def _numbered_data(self, name: str) -> Data | None:
        match = re.fullmatch(r"(.*?)(\d+)", name)
        if match is None or match[1] not in self.numbered or name in type(self).data_names:
            return None
        if name not in self._data:
            declaration = copy(self.numbered[match[1]])
            declaration.name = name
            self._data[name] = declaration.data_class(declaration, self)
        return self._data[name]
