"""What a scene says about itself: plugins, folders of files, the version of SOFA."""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.runtime.components.visual.inert import Inert
from sofa_softctl.runtime.core.data.types import Bool, Text, Texts
from sofa_softctl.runtime.helper import repository
from sofa_softctl.runtime.helper.strictness import complain


class RequiredPlugin(Inert):
    """Names a plugin of SOFA that the scene needs there."""

    pluginName = Texts([], "Plugin, or several.")
    suffixMap = Texts([], "Unused.")
    stopAfterFirstNameFound = Bool(False, "Unused.")
    stopAfterFirstSuffixFound = Bool(True, "Unused.")
    requireOne = Bool(False, "Unused: there is nothing to load, so no plugin is missing.")
    requireAll = Bool(True, "Unused: there is nothing to load, so no plugin is missing.")
    loadedPlugins = Texts([], "The same plugins.")

    def init(self) -> None:
        """Nothing to load."""
        self.loadedPlugins.set(list(self.pluginName.get()) or [self.getName()])


class _AddRepository(Inert):
    """A folder in which files are looked for."""

    path = Text("", "Folder; a relative one is meant from the working folder, and made absolute.")
    paths = repository.data
    _added = ""
    """The folder, while files are looked for in it."""

    def added(self) -> None:
        """Let loaders look there."""
        folder = Path(self.path.get()).absolute()
        if not folder.is_dir():
            complain(self, self.fault(f"has the path '{folder}', which is no folder."))
            return
        self._added = str(folder)
        self.path.set(self._added)
        self.paths.addLastPath(self._added)

    def cleanup(self) -> None:
        """No longer look there."""
        self.paths.removePath(self._added)


class AddDataRepository(_AddRepository):
    """A folder with data."""

    aliases = ("AddResourceRepository",)  # as STLIB calls it; SOFA had that name once


class AddPluginRepository(_AddRepository):
    """A folder with plugins; nothing is loaded."""

    paths = repository.plugins


class APIVersion(Inert):
    """Version of SOFA for which the scene was written."""

    level = Text("25.06", "Version.")

    def getApiLevel(self) -> str:
        """The version."""
        return self.level.get()
