"""Files that components write and read: paths, and numbers as SOFA writes them."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool
from sofa_softctl.runtime.helper import repository
from sofa_softctl.runtime.helper.message import complain

_WITHOUT_DEVICES = "_softctl_without_devices"
"""Attribute of the root of a scene that is a copy and must not write files."""


_FILES = "_softctl_files"
"""Attribute of the root: the files written in a run, with the paths of their writers."""


class FileComponent(Component):
    """Reads or writes a file at the events of a step.

    A relative name starts at the folder in which the scene was built.
    """

    category: ClassVar[str] = "controller"

    listening = Bool(True, "Receive events.")

    _folder = ""
    first = True
    """True if this run has not yet written to the file that it claimed last."""

    def on_added(self) -> None:
        """Remember the folder of the scene."""
        self._folder = os.getcwd()

    def path_of(self, name: str) -> str:
        """Return the path to write a file to."""
        return os.path.join(self._folder, name)

    def claims(self, path: str) -> bool:
        """Claim a file for this run; warn and return False if another component writes it.

        Sets `first`.
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
        """Return the path to read a file from: the scene's folder or a DataRepository's."""
        path = self.path_of(name)
        return path if os.path.exists(path) else repository.data.getFile(name)

    @property
    def writes(self) -> bool:
        """True if it may write: a copy of a scene for computations must not."""
        return (
            self._context is not None and _WITHOUT_DEVICES not in self._context.getRoot().__dict__
        )

    @property
    def current_time(self) -> float:
        """Simulated time [time]."""
        assert self._context is not None
        return float(self._context.time.get())

    @property
    def dt(self) -> float:
        """Time step."""
        assert self._context is not None
        return float(self._context.dt.get())


def spell(value: float) -> str:
    """Return a number as SOFA writes it into files: six digits."""
    return f"{value:.6g}"


def spell_all(values: Any) -> str:
    """Return numbers as SOFA writes them into files, separated by blanks."""
    return " ".join(map(spell, np.asarray(values).ravel().tolist()))
