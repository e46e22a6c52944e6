"""Files that components write and read: where they are, and numbers as SOFA writes them."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.helper import repository

_WITHOUT_DEVICES = "_softctl_without_devices"
"""Mark of the root of a scene that only is a copy of another one: it must not write anything."""


class FileComponent(Component):
    """Reads or writes a file at the events of a step.

    A relative name is meant from the folder in which the scene was built, which is its own.
    """

    category: ClassVar[str] = "controller"

    listening = Bool(True, "Receive events.")

    _folder = ""

    def added(self) -> None:
        """Remember the folder of the scene."""
        self._folder = os.getcwd()

    def path_of(self, name: str) -> str:
        """Where a file is to be written."""
        return os.path.join(self._folder, name)

    def find(self, name: str) -> str:
        """Where a file is read from: the scene's folder, or those of DataRepository."""
        path = self.path_of(name)
        return path if os.path.exists(path) else repository.data.getFile(name)

    @property
    def writes(self) -> bool:
        """Whether it may write: a copy of a scene, made to be computed with, must not."""
        return (
            self._context is not None and _WITHOUT_DEVICES not in self._context.getRoot().__dict__
        )

    @property
    def now(self) -> float:
        """Simulated time."""
        assert self._context is not None
        return float(self._context._data["time"].get())

    @property
    def dt(self) -> float:
        """Time step."""
        assert self._context is not None
        return float(self._context._data["dt"].get())


def spelt(value: float) -> str:
    """A number as SOFA writes it into files: six digits."""
    return f"{value:.6g}"


def spelt_all(values: Any) -> str:
    """Numbers as SOFA writes them into files, between blanks."""
    return " ".join(map(spelt, np.asarray(values).ravel().tolist()))
