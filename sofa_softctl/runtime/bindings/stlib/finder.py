"""Import finder for `stlib3`, `splib3` and `softrobots` if the originals are not installed.

These libraries of SOFA's users are on no package index: people put folders of the repositories
STLIB and SoftRobots on their path. The finder stays at the end of sys.meta_path, on either backend,
so that the originals are found before it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from typing_extensions import override

LIBRARIES = ("softrobots", "splib3", "stlib3")
"""Names of the libraries at the top level."""
_FOLDER = Path(__file__).parent
_STLIB = "If the original has it, put python3/src of github.com/SofaDefrost/STLIB on PYTHONPATH."
_ORIGINALS = {
    "softrobots": (
        "If the original has it, put python3 of github.com/SofaDefrost/SoftRobots on PYTHONPATH."
    ),
    "splib3": _STLIB,
    "stlib3": _STLIB,
}
_COSSERAT = (
    "it is the Python part of SOFA's plugin Cosserat, which the embedded runtime does not have. "
    "Run the scene in a SOFA that has the plugin, with the plugin's Python folder on PYTHONPATH."
)
ABSENT = {
    "Cosserat": _COSSERAT,
    "SofaPython": (
        "it is SOFA's plugin for Python 2. Python 3 is the plugin SofaPython3, whose modules are "
        "Sofa and SofaRuntime."
    ),
    "cosserat": _COSSERAT,
    "splib": "it is the name for Python 2. Write splib3, which comes with sofa_softctl.",
    "stlib": "it is the name for Python 2. Write stlib3, which comes with sofa_softctl.",
}
"""Missing modules that scenes import, at the top level, with advice."""


def install() -> None:
    """Add the finder to the end of sys.meta_path, once."""
    if not any(isinstance(finder, LibraryFinder) for finder in sys.meta_path):
        sys.meta_path.append(LibraryFinder())


class LibraryFinder(importlib.abc.MetaPathFinder):
    """Import finder of the libraries in this package.

    Its packages have an empty `__path__`: Python would take folders without `__init__.py` for
    packages before it calls this finder. A `path` with folders belongs to an original.
    """

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del target
        library = fullname.partition(".")[0]
        if not path and library in ABSENT:
            reason = f"No module named '{fullname}': {ABSENT[library]}"
            raise ModuleNotFoundError(reason, name=fullname)
        if path or library not in LIBRARIES:
            return None
        if fullname in PACKAGES:
            package = ModuleSpec(fullname, _PackageLoader(), origin=__file__, is_package=True)
            package.has_location = True  # `__file__` is this file
            return package
        *packages, _ = fullname.split(".")
        spec = PathFinder.find_spec(fullname, [str(_FOLDER.joinpath(*packages))])
        if spec is None and packages:
            raise ModuleNotFoundError(
                f"No module named '{fullname}': it is not part of the {library} that comes with "
                f"sofa_softctl. {_ORIGINALS[library]}",
                name=fullname,
            )
        if spec is not None and spec.submodule_search_locations is not None:
            spec.submodule_search_locations = []
        return spec


class _PackageLoader(importlib.abc.Loader):
    """Loader that fills a package of the table."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "Part of a library of SOFA's users, answered by sofa_softctl."
        entries = [text.partition(":") for text in PACKAGES[module.__name__]]
        for home, _, name in entries:
            if name:
                content = getattr(importlib.import_module(f"{module.__name__}.{home}"), name)
                setattr(module, name, content)
        if entries:
            module.__all__ = [name or home for home, _, name in entries]  # type: ignore[attr-defined]


PACKAGES = {
    "softrobots": ["actuators", "inverse", "parts", "sensors"],
    "softrobots.actuators": ["cable:PullingCable", "pneumatic:PneumaticCavity"],
    "softrobots.inverse.actuators": ["cable:PullingCable", "pneumatic:PneumaticCavity"],
    "softrobots.inverse.effectors": [
        "effectorGoal:EffectorGoal",
        "positionEffector:PositionEffector",
        "volumeEffector:VolumeEffector",
    ],
    "softrobots.parts": ["bunny", "finger"],
    "softrobots.parts.bunny": ["Bunny:Bunny"],
    "softrobots.parts.finger": ["finger:Finger"],
    "softrobots.sensors": ["pneumaticSensor:PneumaticSensor", "stringsensor:StringSensor"],
    "splib3": [],
    "splib3.animation": [
        "animate:AnimationManager",
        "animate:AnimationManagerController",
        "animate:animate",
        "easing",
    ],
    "splib3.constants": ["Key", "KeyCode"],
    "splib3.debug": ["drawing:DebugManager", "drawing:drawLine", "drawing:drawText"],
    "splib3.interface": ["serialport:getDevicePort"],
    "splib3.loader": ["by_suffix:addLoader"],
    "splib3.loaders": ["files:getLoadingLocation", "files:loadPointListFromFile"],
    "splib3.scenegraph": ["paths:find", "paths:get", "paths:getLinkPath"],
    "splib3.topology": [],
    "stlib3": [],
    "stlib3.components": ["oriented_box:addOrientedBoxRoi"],
    "stlib3.physics": ["collision", "constraints", "deformable", "mixedmaterial", "rigid"],
    "stlib3.physics.collision": ["collision:CollisionMesh"],
    "stlib3.physics.constraints": [
        "fixedbox:FixedBox",
        "partiallyfixedbox:PartiallyFixedBox",
        "subTopology:SubTopology",
    ],
    "stlib3.physics.deformable": ["elasticmaterialobject:ElasticMaterialObject"],
    "stlib3.physics.mixedmaterial": ["rigidification:Rigidify"],
    "stlib3.physics.rigid": [
        "RigidObject:RigidObject",
        "shapes:Cube",
        "shapes:Floor",
        "shapes:Sphere",
    ],
    "stlib3.scene": [
        "contactheader:ContactHeader",
        "interaction:Interaction",
        "mainheader:MainHeader",
        "node:Node",
        "scene:Scene",
        "wrapper:Wrapper",
    ],
    "stlib3.solver": ["defaultsolver:DefaultSolver"],
    "stlib3.tools": ["box_filter:BoxFilter"],
    "stlib3.visuals": ["visualmodel:VisualModel"],
}
"""Packages without content except for these modules and names of modules.

"module:name" is imported with the package, a module without name when it is used.
"""
