"""Each Data of SOFA's components is known here, and has SOFA's default."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.data.types import Int, UInt

with gzip.open(Path(__file__).parent / "records" / "defaults.json.gz", "rt") as record:
    SOFA = json.load(record)
"""By component and Data the type and the value of a new component, see defaults.py."""
INTERNAL = {
    "edgeInfo", "pointInfo", "tetrahedronInfo", "stiffnessMatrices", "springs",
    "areJacobiansConstant", "handleEventTriggersUpdate",
}  # fmt: skip
"""Data that hold what a component remembers, or that nothing reads in a scene."""
UNKNOWN = {
    "CableEquality": {"displayCableLimit"},
    "DefaultVisualManagerLoop": {"enable"},
    "GenerateRigidMass": {"polygons"},
    "PointCollisionModel": {"displayFreePosition"},
    "SparseGridTopology": {"facets"},
}
"""Data of pictures, and of polygons with more than four sides, which no mesh here has."""
NUMBERED = {"MathOp", "MergeMeshes", "MergeVectors", "MergeSets", "MergePoints"}
"""Engines whose inputs have numbers and are as many as a scene gives."""
WHEN_MADE = {"edges", "quads", "triangles", "hexahedra", "tetrahedra", "output_position"}
"""Of meshes that make themselves: here when they are initialised."""
AT_INIT = {
    "indices", "useDirections", "value", "direction", "movements", "velocities", "point",
    "barycenter", "activeDirections", "position", "velocity", "force", "externalForce", "output",
    "average", "inertiaMatrix", "totalForce", "massDensity",
}  # fmt: skip
"""Here a value that counts when none is given; in SOFA the same, found at init."""
OTHER = {
    ("CollisionResponse", "response"): "empty is PenalityContactForceField",
    ("RuleBasedContactManager", "response"): "empty is PenalityContactForceField",
    ("MeshGmshLoader", "createSubelements"): "set while it reads a file",
    ("QPInverseProblemSolver", "objective"): "an output",
    ("QPInverseProblemSolver", "qpSolver"): "another solver of the same problem",
    ("EulerImplicitSolver", "residual"): "an output",
    ("SerialPortBridgeGeneric", "header"): "bytes without a sign",
    ("TrianglePressureForceField", "cauchyStress"): "text of a matrix",
    ("GenerateRigidMass", "rigidMass"): "an output, as text",
    ("DiagonalMass", "filename"): "not supported",
    ("PairBoxROI", "drawSize"): "of pictures",
    ("MechanicalObject", "constraint"): "a matrix that is made when it is read",
    ("MechanicalObject", "mappingJacobian"): "a matrix that is made when it is read",
}
"""Of single Data, each with its reason."""
OF_PICTURES = {
    "APIVersion", "BackgroundSetting", "Camera", "InteractiveCamera", "RecordedCamera",
    "InputEventReader", "VisualGrid", "VisualModel",
}  # fmt: skip
FOLDERS = {"AddDataRepository", "AddPluginRepository"}
KINDS = sorted(kind for kind in SOFA if factory.find(kind) is not None)


def declared(kind):
    types = factory.find(kind).data_types
    names = {alias: name for name, data in types.items() for alias in data.aliases}
    return types, names


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_is_known(kind):
    types, aliases = declared(kind)
    left_out = INTERNAL | UNKNOWN.get(kind, set())
    missing = {name for name in SOFA[kind] if not (name in types or name in aliases)}
    if kind in NUMBERED:
        missing = {name for name in missing if not name[-1].isdigit()}
    assert not missing - left_out


def numbers(value):
    try:
        return np.ravel(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in OF_PICTURES | FOLDERS])
def test_defaults_are_those_of_sofa(kind):
    types, _ = declared(kind)
    different = []
    for name, (_, theirs) in SOFA[kind].items():
        data = types.get(name)
        skip = data is None or (kind, name) in OTHER or data.help.startswith("Unused")
        if skip or theirs is None or name in AT_INIT | WHEN_MADE:
            continue
        ours = data.default
        first, second = numbers(theirs), numbers(ours)
        if first is None or second is None:
            same = str(theirs) == str(ours) or not (len(str(ours)) and len(theirs))
        else:
            same = first.shape == second.shape and np.allclose(first, second, rtol=1e-6, atol=0)
        if not same:
            different.append(f"{name}: SOFA {theirs}, here {ours}")
    assert not different


WITH_SIGN = {
    "nbInputs", "nbMeshes", "nbROIs", "nbSet", "resolution", "nbPointsOnEachCircle", "index",
}  # fmt: skip
"""Numbers of what is made or moved: with large ones SOFA ends, or does not."""


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_without_a_sign_have_none_here(kind):
    """So that a negative one is the same large number."""
    types, aliases = declared(kind)
    found = {name: types.get(aliases.get(name, name)) for name in SOFA[kind]}
    whole = {name: data for name, data in found.items() if isinstance(data, Int)}
    unsigned = {name for name, data in whole.items() if isinstance(data, UInt)}
    assert unsigned == {name for name in whole if SOFA[kind][name][0] == "I"} - WITH_SIGN


def test_enough_is_compared():
    assert len(KINDS) > 230
    assert sum(map(len, SOFA.values())) > 2400
