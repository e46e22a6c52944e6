"""Scenes of this folder by name, for changed_data.py: built, and what is in them."""

import importlib.util
from functools import cache
from pathlib import Path

HERE = Path(__file__).parents[1]
OWN_LOOP = ("examples", "changed_scenes", "changed_bodies", "changed_files")
"""Modules whose scenes have an animation loop."""
OF_ALL = frozenset("name tags printLog listening src template bbox".split())
"""Data of every component, which say nothing of its motion."""


def runtime():
    from sofa_softctl.scene.backend.backend import find_backend

    return find_backend("embedded").Sofa


@cache
def module(name):
    folder = HERE / "changed" if name.startswith("changed_") else HERE
    spec = importlib.util.spec_from_file_location(f"of_{name}", folder / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@cache
def scene_names():
    """Of all scenes: 'module/case'."""
    names = [
        f"{kind}/{case}"
        for kind in (
            "mechanics",
            "solids",
            "examples",
            "topologies",
            "engines",
            "parity_scenes",
            "changed_scenes",
            "changed_bodies",
            "changed_files",
        )
        for case in module(kind).CASES
    ]
    return [name for name in names if "SCENES" not in name]


def build(name):
    """Root of a scene that is not initialised."""
    kind, case = name.split("/")
    cases, root = module(kind).CASES, runtime().Core.Node("root")
    if kind == "parity_scenes":
        create, options = cases[case]
        create(root, **options)
    elif kind in ("topologies", "engines"):
        root.gravity = [3.0, -98.1, 20.0]
        root.addObject("DefaultAnimationLoop")
        cases[case](root.addChild("node"))
    else:
        if kind == "solids" and case.endswith("_held"):
            first = case.startswith("velocities")
            root.addObject("FreeMotionAnimationLoop", solveVelocityConstraintFirst=first)
        elif kind not in OWN_LOOP and not case.startswith("constraint"):
            root.addObject("DefaultAnimationLoop")
        cases[case](root)
    return root


def owners(root):
    """Nodes and components, without the contacts of a step."""
    every = [owner for node in root.walk(everything=True) for owner in (node, *node.objects)]
    return [owner for owner in every if getattr(owner, "category", "") != "contact"]


def component_of(root, kind):
    """The first component of a class; the root itself for 'Node'."""
    return next((owner for owner in owners(root) if type(owner).__name__ == kind), None)


def data_of(cls):
    """Names of the Data of a class that a scene may set."""
    return [n for n, kind in cls.data_types.items() if n not in OF_ALL and not kind.read_only]
