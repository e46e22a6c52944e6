"""Force fields whose topology holds no element that they act on."""

import pytest

from sofa_softctl.runtime import components  # noqa: F401  (the table of components)
from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.core import factory

ON_NODES = {"ConstantForceField", "LinearForceField", "RestShapeSpringsForceField"}
"""They have a link to a topology that nothing reads."""
KINDS = sorted(
    {
        kind.__name__
        for kind in factory.components().values()
        if issubclass(kind, ForceField) and "topology" in kind.link_types
    }
    - ON_NODES
)
VALUES = {"VectorSpringForceField": {"useTopology": True}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_force_field_without_elements_is_warned_of_and_does_nothing(
    Sofa, root, tolerant, caplog, kind
):
    """As in SOFA; the points fall freely: y = -g h^2 (1 + 2)."""
    root.gravity = [0, -10.0, 0]
    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    root.addObject("MeshTopology", name="mesh", position=[[0, 0, 0], [1, 0, 0]])
    root.addObject("MechanicalObject", name="dofs", src="@mesh")
    root.addObject("UniformMass", totalMass=1.0)
    root.addObject(kind, name="field", **VALUES.get(kind, {}))
    Sofa.Simulation.init(root)
    Sofa.Simulation.animateNSteps(root, 2, 0.1)
    assert root.dofs.position.value[0, 1] == pytest.approx(-0.3)
    assert caplog.text.count("It has no effect, as in SOFA.") == 1
