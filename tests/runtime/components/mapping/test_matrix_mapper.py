"""MechanicalMatrixMapper, which SOFA removed."""

import pytest

from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.runtime.simulation import simulation


@pytest.mark.parametrize(
    ("kind", "values", "change"),
    [
        ("MechanicalMatrixMapper", {"template": "Vec1,Vec3"}, ""),
        ("MechanicalMatrixMapperMOR", {"performECSW": True}, "performECSW would change the motion"),
    ],
)
def test_it_is_told_of_and_does_nothing(root, integrated, tolerant, kind, values, change):
    node = integrated(root, "body", [[0, 0, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    node.dofs.velocity.value = [[1.0, 0.0, 0.0]]
    root.addObject("DefaultAnimationLoop")
    root.addObject(kind, object1="@body/dofs", object2="@body/dofs", nodeToParse="@body", **values)
    with complaints() as found:
        simulation.init(root)
    assert "does nothing: SOFA has no such component since v23.12" in str(found[0])
    assert change in str(found[0])
    assert ("change the motion" in str(found[0])) == bool(change)
    simulation.animateNSteps(root, 1)
    assert node.dofs.position.value[0, 0] == pytest.approx(0.01)
