import numpy as np

from sofa_softctl.runtime.simulation import simulation


def test_the_parallel_names_give_the_same_motion(root, integrated, grid):
    """Elasticity and springs, each under both names."""
    points, tetrahedra = grid((1, 1, 2), (1.0, 1.0, 2.0))
    root.gravity = [0.0, -10.0, 0.0]
    for name in ("Tetrahedron", "ParallelTetrahedron"):
        node = integrated(root, name, points)
        node.addObject("MeshTopology", position=points, tetrahedra=tetrahedra)
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject(f"{name}FEMForceField", youngModulus=500.0, poissonRatio=0.3)
        prefix = name.removesuffix("Tetrahedron")
        node.addObject(f"{prefix}MeshSpringForceField", stiffness=3.0)
        node.addObject(f"{prefix}SpringForceField", indices1=[0], indices2=[1])
        node.addObject("FixedProjectiveConstraint", indices=[0, 1])
    simulation.init(root)
    simulation.animateNSteps(root, 5)
    one, two = (node.dofs.position.value for node in root.children)
    assert (one == two).all()
    assert np.abs(one - points).max() > 1e-4
