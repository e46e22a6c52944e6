"""Settings of GUIs, and components about a scene as a whole."""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.runtime.components.visual.inert import Inert
from sofa_softctl.runtime.core.data.types import Bool, Choice, Color, Int, Real, Text, Texts, Vector
from sofa_softctl.runtime.core.link import LinkType
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


class BackgroundSetting(Inert):
    """Background of a GUI."""

    color = Color([0.0, 0.0, 0.0, 1.0], "Color.")
    image = Text("", "Picture.")


class ViewerSetting(Inert):
    """Window of a GUI."""

    resolution = Vector(2, [800, 600], "Size in pixels.")
    fullscreen = Bool(False, "Fill the screen.")
    cameraMode = Choice("Perspective", "Projection.", choices=("Perspective", "Orthographic"))
    objectPickingMethod = Choice(
        "Ray casting", "How to pick objects.", choices=("Ray casting", "Selection buffer")
    )


class SofaDefaultPathSetting(Inert):
    """Folders of SOFA."""

    gnuplotPath = Text("", "Unused: folder for files of Gnuplot.")


class StatsSetting(Inert):
    """What SOFA tells of times and states."""

    dumpState = Bool(False, "Unused.")
    logTime = Bool(False, "Unused.")
    exportState = Bool(False, "Unused.")
    traceVisitors = Text("", "Unused.")


class MouseButtonSetting(Inert):
    """What a mouse button does in a GUI."""

    button = Choice("Left", "Button.", choices=("Left", "Middle", "Right"))


class AttachBodyButtonSetting(MouseButtonSetting):
    """Picking with a spring."""

    aliases = ("AttachBodyButton",)

    stiffness = Real(1000.0, "Stiffness of the spring.", unit="force/length")
    arrowSize = Real(0.0, "Size of the drawn arrow.")
    showFactorSize = Real(1.0, "Size of what is drawn with rigid bodies.")


class ConstraintAttachButtonSetting(MouseButtonSetting):
    """Picking with a constraint."""


class FixPickedParticleButtonSetting(MouseButtonSetting):
    """Holding a picked node."""

    aliases = ("FixPickedParticleButton",)

    stiffness = Real(10000.0, "Stiffness of the spring.", unit="force/length")


class AddFrameButtonSetting(MouseButtonSetting):
    """Adding a frame."""

    aliases = ("AddFrameButton",)


class AddRecordedCameraButtonSetting(MouseButtonSetting):
    """Keeping a view."""

    aliases = ("AddRecordedCameraButton",)


class StartNavigationButtonSetting(MouseButtonSetting):
    """Moving along kept views."""

    aliases = ("StartNavigationButton",)


class APIVersion(Inert):
    """Version of SOFA for which the scene was written."""

    level = Text("25.06", "Version.")

    def getApiLevel(self) -> str:
        """The version."""
        return self.level.get()


class InfoComponent(Inert):
    """Holds messages."""


class MessageHandlerComponent(Inert):
    """How SOFA writes messages."""

    handler = Text("", "Unused.")


class FileMessageHandlerComponent(Inert):
    """A file for SOFA's messages."""

    filename = Text("", "Unused: nothing is written.")


class PauseAnimationOnEvent(Inert):
    """Pauses a GUI."""


class DefaultVisualManagerLoop(Inert):
    """Draws a scene in a GUI."""

    targetNode = LinkType("Unused.")


class InputEventReader(Inert):
    """Reads a mouse or pedals; there are none here."""

    filename = Text("/dev/input/mouse2", "Unused.")
    inverseSense = Bool(False, "Unused.")
    printEvent = Bool(False, "Unused.")
    timeout = Int(0, "Unused.")
    key1 = Text("0", "Unused.")
    key2 = Text("1", "Unused.")
    writeEvents = Bool(False, "Unused.")
    outputFilename = Text("", "Unused.")


class MechanicalStateController(Inert):
    """Moves a node with the mouse in a GUI; there is none here."""

    handleEventTriggersUpdate = Bool(False, "Unused.")
    index = Int(0, "Node.")
    onlyTranslation = Bool(False, "Move without turning.")
    buttonDeviceState = Bool(False, "Unused.")
    mainDirection = Vector(3, [0.0, 0.0, -1.0], "Direction of motion.")
