import numpy as np
import pytest


@pytest.fixture
def body(root, integrated, run):
    """Makes a body of some points with a force field on it; the scene is initialised."""

    def make(kind, places, velocity=None, mesh=None, linear_solver="SparseLDLSolver", **values):
        node = integrated(root, "body", places, linear_solver)
        if velocity is not None:
            node.dofs.velocity.value = velocity
        if mesh is not None:
            node.addObject("MeshTopology", position=np.asarray(places).tolist(), **mesh)
        node.addObject("UniformMass", name="mass", totalMass=2.0)
        field = node.addObject(kind, name="field", **values)
        run(root)
        return field

    return make


@pytest.fixture(scope="session")
def force_of():
    """The forces of a force field, shape (n, width)."""

    def forces(field):
        force = np.zeros((field.state.count, field.state.deriv_size))
        field.add_force(force)
        return force

    return forces


CORNERS = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])


@pytest.fixture(scope="session")
def octahedron():
    """Points (6, 3) of a crooked octahedron and its triangles (8, 3), seen from outside."""
    triangles = [[i, (i + 1) % 4, 4] for i in range(4)] + [[(i + 1) % 4, i, 5] for i in range(4)]
    return CORNERS + 0.2 * np.random.default_rng(3).uniform(-1, 1, (6, 3)), np.array(triangles)
