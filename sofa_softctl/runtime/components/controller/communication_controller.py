"""CommunicationController (SoftRobots), without a network."""

from __future__ import annotations

import re
from typing import Any

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.visual.inert import Inert
from sofa_softctl.runtime.core.data.types import Bool, Choice, Int, Real, Text
from sofa_softctl.runtime.helper import message

FIELDS_MAX = 1000
"""Largest number of Data [-]."""
_FIELD = re.compile(r"data\d+")


class CommunicationController(Inert):
    """Exchanges data with another program over a network in SOFA, but not here.

    Its `nbDataField` Data data1, data2, ... keep what the scene gives.
    """

    job = Choice("sender", "Sends or receives.", choices=("sender", "receiver"))
    pattern = Choice("publish/subscribe", "Unused.", choices=("publish/subscribe", "request/reply"))
    HWM = Int(0, "Unused.")
    port = Text("5556", "Unused.")
    ip = Text("", "Unused.")
    atBeginAnimationStep = Bool(True, "Unused.")
    beginAt = Real(0.0, "Unused.", unit="time")
    timeOut = Int(3000, "Unused.")
    nbDataField = Int(1, "Number of Data data1, data2, ...")

    def __init__(self, *args: Any, **values: Any) -> None:
        fields = {name: values.pop(name) for name in list(values) if _FIELD.fullmatch(name)}
        super().__init__(*args, **values)
        kind = {"string": "vector<string>", "int": "vector<int>"}.get(
            str(self.template.get()), "vector<double>"
        )
        count = self.nbDataField.get()
        if not 0 <= count <= FIELDS_MAX:
            raise self.fault(f"needs nbDataField from 0 to {FIELDS_MAX}, got {count}.")
        for number in range(1, count + 1):
            name = f"data{number}"
            self.addData(name, value=fields.pop(name, None), type=kind, help="Data to exchange.")
        self.assign(fields)

    def init(self) -> None:
        """Warn that nothing is exchanged."""
        message.warning(
            self,
            f"{describe(self._where)}: {self.describe()} exchanges nothing: the embedded runtime "
            "has no network. Write a Python controller that does, or use SOFA.",
        )
