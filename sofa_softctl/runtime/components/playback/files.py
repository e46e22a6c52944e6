"""Files that components write and read: where they are, and numbers as SOFA writes them."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.helper import repository
from sofa_softctl.runtime.helper.message import complain

_WITHOUT_DEVICES = "_softctl_without_devices"
"""Mark of the root of a scene that only is a copy of another one: it must not write anything."""


_FILES = "_softctl_files"
"""Files that are written in a run, with the paths of their writers, kept at the root."""


class FileComponent(Component):
    """Reads or writes a file at the events of a step.

    A relative name is meant from the folder in which the scene was built, which is its own.
    """

    category: ClassVar[str] = "controller"

    listening = Bool(True, "Receive events.")

    _folder = ""
    first = True
    """Whether nothing was written in this run to the file that it claimed last."""

    def added(self) -> None:
        """Remember the folder of the scene."""
        self._folder = os.getcwd()

    def path_of(self, name: str) -> str:
        """Where a file is to be written."""
        return os.path.join(self._folder, name)

    def claims(self, path: str) -> bool:
        """Take a file for itself, once a run; False, with a warning, where another one writes it.

        `first` is then whether nothing was written to it in this run.
        """
        assert self._context is not None
        owners: dict[str, str] = self._context.getRoot().__dict__.setdefault(_FILES, {})
        self.first = path not in owners
        owner = owners.setdefault(path, self.getPathName())
        if owner == self.getPathName():
            return True
        complain(
            self,
            self.fault(
                f"writes nothing to '{path}', as {owner} writes it: one would overwrite the other. "
                "Give each a file name of its own."
            ),
        )
        return False

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
        return float(self._context.time.get())

    @property
    def dt(self) -> float:
        """Time step."""
        assert self._context is not None
        return float(self._context.dt.get())


def spelt(value: float) -> str:
    """A number as SOFA writes it into files: six digits."""
    return f"{value:.6g}"


def spelt_all(values: Any) -> str:
    """Numbers as SOFA writes them into files, between blanks."""
    return " ".join(map(spelt, np.asarray(values).ravel().tolist()))
