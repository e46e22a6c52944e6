"""Settings of a scene: plugins, folders of files, the version of SOFA."""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.base.suggestions import nearest_names
from sofa_softctl.runtime.components.visual.inert import Inert
from sofa_softctl.runtime.core.data.types import Bool, Text, Texts
from sofa_softctl.runtime.helper import repository
from sofa_softctl.runtime.helper.message import complain

_PLUGINS = """
    Sofa.Component Sofa.Component.AnimationLoop Sofa.Component.Collision
    Sofa.Component.Collision.Detection.Algorithm Sofa.Component.Collision.Detection.Intersection
    Sofa.Component.Collision.Geometry Sofa.Component.Collision.Response.Contact
    Sofa.Component.Collision.Response.Mapper Sofa.Component.Constraint
    Sofa.Component.Constraint.Lagrangian Sofa.Component.Constraint.Lagrangian.Correction
    Sofa.Component.Constraint.Lagrangian.Model Sofa.Component.Constraint.Lagrangian.Solver
    Sofa.Component.Constraint.Projective Sofa.Component.Controller Sofa.Component.Diffusion
    Sofa.Component.Engine Sofa.Component.Engine.Analyze Sofa.Component.Engine.Generate
    Sofa.Component.Engine.Select Sofa.Component.Engine.Transform Sofa.Component.Haptics
    Sofa.Component.IO Sofa.Component.IO.Mesh Sofa.Component.LinearSolver
    Sofa.Component.LinearSolver.Direct Sofa.Component.LinearSolver.Iterative
    Sofa.Component.LinearSolver.Ordering Sofa.Component.LinearSolver.Preconditioner
    Sofa.Component.LinearSystem Sofa.Component.Mapping Sofa.Component.Mapping.Linear
    Sofa.Component.Mapping.MappedMatrix Sofa.Component.Mapping.NonLinear Sofa.Component.Mass
    Sofa.Component.MechanicalLoad Sofa.Component.ODESolver Sofa.Component.ODESolver.Backward
    Sofa.Component.ODESolver.Forward Sofa.Component.Playback Sofa.Component.SceneUtility
    Sofa.Component.Setting Sofa.Component.SolidMechanics Sofa.Component.SolidMechanics.FEM
    Sofa.Component.SolidMechanics.FEM.Elastic Sofa.Component.SolidMechanics.FEM.HyperElastic
    Sofa.Component.SolidMechanics.FEM.NonUniform Sofa.Component.SolidMechanics.Spring
    Sofa.Component.SolidMechanics.TensorMass Sofa.Component.StateContainer Sofa.Component.Topology
    Sofa.Component.Topology.Container Sofa.Component.Topology.Container.Constant
    Sofa.Component.Topology.Container.Dynamic Sofa.Component.Topology.Container.Grid
    Sofa.Component.Topology.Mapping Sofa.Component.Topology.Utility Sofa.Component.Visual
    Sofa.GL.Component Sofa.GL.Component.Engine Sofa.GL.Component.Rendering2D
    Sofa.GL.Component.Rendering3D Sofa.GL.Component.Shader Sofa.GUI.Component SofaPython3 SoftRobots
    SoftRobots.Inverse MultiThreading ArticulatedSystemPlugin BeamAdapter Cosserat
    ModelOrderReduction STLIB
""".split()
"""Plugins of SOFA v25.06 that scenes of robots name."""
_CUTOFF = 0.9
"""Similarity to a plugin's name, from 0 to 1, above which a name looks misspelt [-]."""


class RequiredPlugin(Inert):
    """Names a plugin that the scene needs in SOFA."""

    pluginName = Texts([], "Plugin, or several.")
    suffixMap = Texts([], "Unused.")
    stopAfterFirstNameFound = Bool(False, "Unused.")
    stopAfterFirstSuffixFound = Bool(True, "Unused.")
    requireOne = Bool(False, "Unused: there is nothing to load, so no plugin is missing.")
    requireAll = Bool(True, "Unused: there is nothing to load, so no plugin is missing.")
    loadedPlugins = Texts([], "The same plugins.")

    def init(self) -> None:
        """Warn of names that look misspelt; no plugin is loaded."""
        names = list(self.pluginName.get()) or [self.getName()]
        self.loadedPlugins.set(names)
        for name in names:
            if name not in _PLUGINS and (close := nearest_names(name, _PLUGINS, cutoff=_CUTOFF)):
                if name.lower() != close[0].lower().replace(".", ""):  # older versions wrote it so
                    problem = f"names the plugin '{name}'. Did you mean '{close[0]}'?"
                    complain(self, self.fault(problem))


class _SearchFolder(Inert):
    """A folder to search for files."""

    path = Text("", "Folder; a path relative to the working folder becomes absolute.")
    paths = repository.data
    _folder = ""
    """The folder, while it is searched."""

    def on_added(self) -> None:
        """Add the folder to the search path."""
        folder = Path(self.path.get()).absolute()
        if not folder.is_dir():
            complain(self, self.fault(f"has the path '{folder}', which is no folder."))
            return
        self._folder = str(folder)
        self.path.set(self._folder)
        self.paths.addLastPath(self._folder)

    def cleanup(self) -> None:
        """Remove the folder from the search path."""
        self.paths.removePath(self._folder)


class AddDataRepository(_SearchFolder):
    """A folder with data."""

    aliases = ("AddResourceRepository",)  # STLIB's name, formerly SOFA's


class AddPluginRepository(_SearchFolder):
    """A folder with plugins; nothing is loaded."""

    paths = repository.plugins


class APIVersion(Inert):
    """Version of SOFA that the scene is written for."""

    level = Text("25.06", "Version.")

    def getApiLevel(self) -> str:
        """Return the version."""
        return self.level.get()
