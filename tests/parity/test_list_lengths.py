"""Lists with an entry for each of something: another length is complained of, for every component.

Which lists those are, their declarations say (`per`); the others are listed here.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.runtime.core.data import types
from sofa_softctl.runtime.helper.message import complaints

spec = importlib.util.spec_from_file_location(
    "changed_data", Path(__file__).with_name("changed_data.py")
)
changed_data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(changed_data)

RECORD = json.loads(changed_data.RECORD.read_text())
CLASSES = {cls.__name__: cls for cls in changed_data.classes()}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Scenes write files where they run."""
    monkeypatch.chdir(tmp_path)


COUNTED = [(kind, name) for kind, cls in CLASSES.items() for name in getattr(cls, "counted", ())]
CHECKED_ITSELF = {
    "forces": "ConstantForceField and LinearForceField say how many forces and nodes or times",
    "movements": "as many as keyTimes, or an error",
    "velocities": "as many as keyTimes, or an error",
    "keyTimes": "see movements",
    "times": "see forces",
    "radii": "see components.radii",
    "external_points": "as many as points, or an error",
    "indices2": "as many as indices1, or an error",
    "springsIndices2": "as many as springsIndices1, or no springs",
    "values": "as many as indices, or an error",
    "directions": "three, six or one, or an error",
    "indexPairs": "two for each node, or an error",
    "compliance": "one for each node, or an error",
    "listRadius": "one for each sphere, or a warning",
}
"""Lists whose length the components themselves compare."""


def built(scene, kind):
    root = changed_data.build(scene)
    return root, changed_data.component_of(root, kind)


def scene_of(kind, name):
    """A scene that holds the component, and how many entries the list is to have there."""
    for scene in sorted({entry[1] for entry in RECORD[kind].values() if entry[1]}):
        root, component = built(scene, kind)
        changed_data.runtime().Simulation.init(root)
        there = component.count_of(component._data[name].type.per)
        if there is not None and there[0]:
            return scene, there[0]
    pytest.skip("no scene of the comparison has one of a known length")


def rows(data, count):
    kind = data.type
    width = kind.columns(data.owner) if isinstance(kind, types.Vectors) else 1
    whole = isinstance(kind, types.Integers)
    return np.zeros(count, dtype=int) if whole else np.full((count, width), 0.1)


@pytest.mark.parametrize(("kind", "name"), COUNTED)
def test_one_entry_too_many_is_complained_of_with_both_numbers(kind, name, tolerant):
    scene, count = scene_of(kind, name)
    root, component = built(scene, kind)
    component._data[name].value = rows(component._data[name], count + 2)
    with complaints() as found:
        try:
            changed_data.runtime().Simulation.init(root)
        except Exception as error:  # of the value itself
            found.append(error)
    told = [str(error) for error in found if f"'{name}'" in str(error)]
    assert any(f"{count + 2} entries for {count}" in text or "goals" in text for text in told), told


def test_a_list_that_changes_its_length_in_a_run_is_complained_of(tolerant, caplog):
    scene, count = scene_of("TetrahedronFEMForceField", "youngModulus")
    root, field = built(scene, "TetrahedronFEMForceField")
    changed_data.runtime().Simulation.init(root)
    field.updateStiffness.value = True
    for _ in range(2):
        field.youngModulus.value = [1000.0] * (count + 1)
        changed_data.runtime().Simulation.animate(root, root.dt.value)
    assert caplog.text.count(f"has {count + 1} entries for {count} elements") == 1


FREE = """
    BilateralLagrangianConstraint.first_point Cable.indices CableModel.centers AverageCoord.indices
    SpringForceField.spring SpringForceField.springsIndices1 RestShapeSpringsForceField.points
    TetrahedronFEMForceField.localStiffnessFactor
    TetrahedronHyperelasticityFEMForceField.ParameterSet MechanicalObject.derivX
    AssumedStrainFEMForceField.ParameterSet
    RestShapeSpringsForceField.pivot_points AttachProjectiveConstraint.indices1
    PolynomialRestShapeSpringsForceField.points MeshMatrixMass.edgeMass
    PolynomialRestShapeSpringsForceField.polynomialDegree
    PolynomialRestShapeSpringsForceField.polynomialStiffness
    OscillatorProjectiveConstraint.oscillators UniformMass.indices PositionModel.indices
    FixedLagrangianConstraint.indices UnilateralPlaneConstraint.indices DirectedActuator.indices
    DirectedActuator.direction ForceSurfaceActuator.centers YoungModulusActuator.elements
    ConstantForceField.indices LinearForceField.points NodeConstraint.indices CollisionModel.group
    LinearVelocityProjectiveConstraint.coordinates PointProjectiveConstraint.point
    SubsetMapping.indices Cavity.triangles Cavity.quads
""".split()
"""Lists of any length: what others belong to, numbers of nodes, and polynomials' coefficients,
which are compared by the component itself."""
FAMILIES = {"collision", "constraint", "elasticity", "force", "mapping", "mass", "projective"}
FAMILIES |= {"softrobots_inverse", "spring"}
"""Of components that act on the motion."""


def lists():
    """Every list of a component that acts, with the class that declares it."""
    for cls in CLASSES.values():
        if cls.__module__.split(".")[-2] not in FAMILIES:
            continue
        for base in cls.__mro__:
            for name, kind in vars(base).items():
                if isinstance(kind, types.Reals | types.Integers | types.Vectors):
                    if not kind.read_only and not kind.help.startswith("Unused"):
                        yield base, name, kind


def test_every_list_says_what_it_belongs_to_or_is_listed_here():
    """A new one is to be declared with `per`, or to be listed with the reason."""
    by_number = ("edgeIndices", "quadList", "triangleList", "quadIndices", "triangleIndices")
    unsaid = {
        f"{base.__name__}.{name}"
        for base, name, kind in lists()
        if not kind.per and name not in CHECKED_ITSELF and name not in by_number
    }
    values = {entry for entry in unsaid if entry.endswith((".value", ".indices", ".position"))}
    chosen = {entry for entry in unsaid if entry.endswith((".initialPoints", ".rest_vector"))}
    assert unsaid - values - chosen <= set(FREE)
