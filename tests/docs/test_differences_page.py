"""The page of differences from SOFA names every component whose docstring has one."""

import re
from pathlib import Path

from sofa_softctl.runtime import components
from sofa_softctl.runtime.core import factory

PAGE = Path("docs/explanation/where-we-differ.md").read_text(encoding="utf-8")


def test_every_departure_is_on_the_page():
    kinds = (factory.find(name) for name in components.__all__)
    departing = {
        kind.__name__
        for kind in kinds
        if isinstance(kind, type) and re.search(r"\bDepartures?\b", vars(kind).get("__doc__") or "")
    }
    assert len(departing) >= 8
    assert {name for name in departing if f"`{name}" not in PAGE} == set()


def test_every_use_of_the_variable_is_in_the_table():
    """Modules that ask for SOFA's defects; the page has a row for each."""
    modules = {
        path.stem
        for path in Path("sofa_softctl/runtime").rglob("*.py")
        if "keeps_sofa_defects()" in path.read_text(encoding="utf-8")
    } - {"message"}
    rows = {
        "cable": "`CableConstraint.maxDispVariation`",
        "surface_pressure": "`SurfacePressureConstraint.maxVolumeGrowthVariation`",
        "intersection": "`MinProximityIntersection`",
        "young_modulus": "`YoungModulusActuator`",
        "contact": "`SphereCollisionModel` on bodies",
        "constraint": "a `valueIndex` without a value",
        "rest_shape": "a `polynomialStiffness` or",
        "strain_point_field": "`ParameterSet` that is too short",
        "position": "`PositionConstraint` with valueType displacement",
        "joint": "`JointActuator.maxAngleVariation`",
        "effectors": "`maxSpeed` of VolumeEffector and CableEffector",
        "pipeline": "`numberOfContacts` of a collision model",
        "read_state": "`CompareState`",
        "constraint_system": "`endTime` of constraints that a solver enforces",
        "parts": "faces of tetrahedra that are wound in two ways (`MeshTopology`)",
        "system": "`endTime` of projective constraints under a direct solver",
        "mesh_loader": "`transformation` of a loader",
        "mechanics": "`movements`, `velocities` and `forces` that are fewer than their times",
        "attach": "`AttachProjectiveConstraint` under a direct solver",
        "given_motion": "a node that `LinearVelocityProjectiveConstraint` names twice",
        "inverse_layout": "`SurfacePressureActuator.maxPressureVariation`",
        "qp_solver": "actuators that move no effector",
        "actuators": "`PositionEquality` with several rows",
        "force_surface": "`ForceSurfaceActuator` with several spheres",
    }
    assert modules == rows.keys()
    assert all(row in PAGE for row in rows.values())
