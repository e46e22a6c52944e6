import itertools

import numpy as np
import pytest

import sofa_softctl  # noqa: F401  (answers `import Sofa`)
from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.rows.effectors import add_center_effector

GRID = np.array(list(itertools.product(range(4), range(3), range(5))), dtype=float)


def ring(count=60):
    """Nodes of a thick ring about z."""
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    circles = [(r, z) for r in (8.0, 10.0) for z in (0.0, 5.0)]
    return np.concatenate(
        [np.stack([r * np.cos(angle), r * np.sin(angle), z + 0 * angle], -1) for r, z in circles]
    )


@pytest.mark.parametrize("nodes", [GRID, ring()], ids=["block", "ring"])
def test_the_centre_follows_every_affine_motion_of_the_body(nodes):
    """Barycentric weights reproduce affine maps: then the centre is the mean of all nodes, to
    rounding."""
    import Sofa

    root = Sofa.Core.Node("root")
    body = root.addChild("body")
    body.addObject("MechanicalObject", name="dofs", position=nodes.tolist())
    rows = add_center_effector(body, nodes)
    Sofa.Simulation.init(root)
    centre = body.parts.centre.dofs
    assert centre.position.value[0] == pytest.approx(nodes.mean(axis=0), abs=1e-12)
    random = np.random.default_rng(0)
    moved = nodes @ (np.eye(3) + 0.3 * random.uniform(-1, 1, (3, 3))) + [1.0, -2.0, 3.0]
    body.dofs.position.value = moved
    for mapped in (body.parts, body.parts.centre):
        driver, follower = mapped.parents[0].dofs, mapped.dofs
        out = np.empty_like(follower.position.value)
        mapped.BarycentricMapping.apply(driver.position.value, out)
        follower.position.value = out
    assert centre.position.value[0] == pytest.approx(moved.mean(axis=0), abs=1e-11)
    assert [row.useDirections.value.tolist() for row in rows] == np.eye(3).tolist()


def test_nodes_in_a_plane_have_no_volume_to_carry_a_centre():
    import Sofa

    flat = np.array(list(itertools.product(range(4), range(4), (0.0,))))
    with pytest.raises(SceneError, match="lie in a plane"):
        add_center_effector(Sofa.Core.Node("root"), flat)
