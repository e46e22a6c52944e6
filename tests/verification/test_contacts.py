"""Contacts: closed forms of bodies on slopes and floors, balances of momentum and energy, a rod
against a wall, Hertz' law."""

import itertools
import math

import numpy as np
import pytest

from sofa_softctl.runtime import simulation

G = 10.0


@pytest.fixture
def touching():
    """Adds to a scene what finds and solves contacts."""

    def add(root, *, mu=0.5, method="MinProximityIntersection", alarm=0.2, contact=0.05, **values):
        """The pipeline, so that forces are exact to about 1e-10 of what drives them."""
        root.addObject("FreeMotionAnimationLoop")
        root.addObject(
            "GenericConstraintSolver", name="solver", tolerance=1e-12, maxIterations=2000
        )
        pipeline = root.addObject("CollisionPipeline", name="pipeline")
        root.addObject("BruteForceBroadPhase")
        root.addObject("BVHNarrowPhase")
        root.addObject(method, alarmDistance=alarm, contactDistance=contact, **values)
        root.addObject(
            "CollisionResponse",
            response="FrictionContactConstraint",
            responseParams=f"mu={mu}",
        )
        return pipeline

    return add


def models(node, **values):
    """Points, lines and triangles of a node that touch."""
    for kind in ("Triangle", "Line", "Point"):
        node.addObject(f"{kind}CollisionModel", **values)


def plane(root, *, height=0.0, size=50.0, name="plane"):
    """An obstacle of one triangle, facing upwards: no edge lies below the bodies."""
    node = root.addChild(name)
    corners = [[x * size, y * size, height] for x, y in ((-1, -1), (3, -1), (-1, 3))]
    node.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2]])
    node.addObject("MechanicalObject", name="dofs")
    models(node, moving=False, simulated=False)
    return node


def skin(points, tetrahedra):
    """Triangles on the surface of a mesh, normals outwards."""
    found = {}
    for tetrahedron in tetrahedra.tolist():
        for inner, *face in (tetrahedron[k:] + tetrahedron[:k] for k in range(4)):
            a, b, c, d = points[[*face, inner]]
            if np.dot(np.cross(b - a, c - a), d - a) > 0.0:
                face = face[::-1]
            found.setdefault(tuple(sorted(face)), []).append(face)
    return np.array([faces[0] for faces in found.values() if len(faces) == 1])


def soft(root, soft_body, mesh, *, name="body", at=(0.0, 0.0, 0.0), velocity=None, **values):
    """A body of tetrahedra, with its skin as collision model."""
    points, tetrahedra = mesh[0] + np.array(at, float), mesh[1]
    node = soft_body(root, (points, tetrahedra), name=name, **values)
    if velocity is not None:
        node.dofs.velocity = np.tile(np.array(velocity, float), (len(points), 1)).tolist()
    node.addObject("LinearSolverConstraintCorrection")
    surface = node.addChild("surface")
    surface.addObject(
        "MeshTopology", position=points.tolist(), triangles=skin(points, tetrahedra).tolist()
    )
    surface.addObject("MechanicalObject", name="dofs")
    models(surface)
    surface.addObject("IdentityMapping")
    return node


def ball(root, particles, at, *, radius=0.5, velocity=(0.0, 0.0, 0.0), **values):
    """A particle with a sphere around it."""
    node = particles(root, [list(at)], **values)
    node.dofs.velocity = [list(velocity)]
    node.addObject("LinearSolverConstraintCorrection")
    node.addObject("SphereCollisionModel", radius=radius)
    return node


def pushes(pipeline):
    """lambda of all contacts of the last step, normal first, shape (p, 3)."""
    return np.concatenate([np.empty((0, 3)), *(entry.force for entry in pipeline.contacts)])


def gaps(pipeline):
    """delta of all contacts of the last step, normal first, shape (p, 3)."""
    return np.concatenate([np.empty((0, 3)), *(entry.gap for entry in pipeline.contacts)])


def force_on(pipeline, node, dt=0.01):
    """Force of all contacts of the last step on a body with the surface of this node, shape (3,)."""
    total = np.zeros(3)
    for entry in pipeline.contacts:
        for model, sign in zip(entry.models, (-1.0, 1.0), strict=True):
            if model.getContext() is node:
                total += sign * np.einsum("pr,prc->c", entry.force, entry.frames) / dt
    return total


def tilt(root, degrees):
    """Gravity as on a slope: instead of the plane, what is down turns."""
    a = math.radians(degrees)
    root.gravity = [G * math.sin(a), 0.0, -G * math.cos(a)]
    return math.sin(a), math.cos(a)


# -- slopes ---------------------------------------------------------------------------------------

METHODS = ["LocalMinDistance", "MinProximityIntersection", "NewProximityIntersection"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("mu", "degrees"), [(0.0, 10.0), (0.3, 20.0), (0.5, 30.0), (0.5, 70.0)])
def test_a_particle_slides_down_a_slope(root, touching, particles, run, mu, degrees, method):
    """At g (sin a - mu cos a): every step adds dt times that, and Euler's positions are
    dt^2 n (n + 1) / 2 of it. 1e-10 of g: what the iteration leaves."""
    sin, cos = tilt(root, degrees)
    touching(root, mu=mu, method=method)
    plane(root)
    body = ball(root, particles, (0.3, 0.1, 0.55))
    run(root, 50)
    speed_up = G * (sin - mu * cos)
    moved = body.dofs.position.value[0] - [0.3, 0.1, 0.55]
    assert body.dofs.velocity.value[0] == pytest.approx([0.5 * speed_up, 0, 0], abs=1e-9)
    assert moved == pytest.approx([1e-4 * 50 * 51 / 2 * speed_up, 0, 0], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("mu", "degrees"), [(0.3, 16.0), (0.5, 26.0), (1.0, 44.0)])
def test_a_particle_stays_below_the_angle_of_friction(
    root, touching, particles, run, mu, degrees, method
):
    """tan a < mu: it does not creep, and its push is its weight: lambda = dt m g (cos a, sin a)."""
    sin, cos = tilt(root, degrees)
    pipeline = touching(root, mu=mu, method=method)
    plane(root)
    body = ball(root, particles, (0.3, 0.1, 0.55), mass=2.0)
    run(root, 50)
    assert body.dofs.position.value[0] == pytest.approx([0.3, 0.1, 0.55], abs=1e-10)
    assert force_on(pipeline, body) == pytest.approx([-2.0 * G * sin, 0, 2.0 * G * cos], abs=1e-8)


def block_on_a_slope(root, touching, soft_body, box, mu, degrees, method):
    """A flat damped block, its underside at the contact distance; sin and cos of the slope."""
    trig = tilt(root, degrees)
    touching(root, mu=mu, method=method)
    plane(root)
    mesh = box((3, 3, 1), (1.0, 1.0, 0.3), shake=0.2, along=(1.0, 1.0, 0.0))
    values = {"young": 2e3, "poisson": 0.3, "method": "large", "rayleighStiffness": 0.02}
    return soft(root, soft_body, mesh, at=(0.3, 0.1, 0.05), **values), *trig


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(("mu", "degrees"), [(0.3, 25.0), (0.5, 35.0)])
def test_a_soft_block_slides_down_a_slope(root, touching, soft_body, box, run, mu, degrees, method):
    """Once its vibration is damped (it starts without weight), every part of it speeds up by
    g (sin a - mu cos a). 1e-3: vibrations left after 100 steps."""
    body, sin, cos = block_on_a_slope(root, touching, soft_body, box, mu, degrees, method)
    run(root, 100)
    before = body.dofs.velocity.value.copy()
    run(root, 20)
    speed_up = (body.dofs.velocity.value - before) / 0.2
    expected = np.tile([G * (sin - mu * cos), 0.0, 0.0], (len(before), 1))
    assert speed_up == pytest.approx(expected, abs=1e-3 * G)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_soft_block_stays_below_the_angle_of_friction(
    root, touching, soft_body, box, run, method
):
    """At 20 degrees with mu = 0.5 (limit 26.6): it comes to rest a little sheared and stays."""
    body, _, _ = block_on_a_slope(root, touching, soft_body, box, 0.5, 20.0, method)
    run(root, 300)
    before = body.dofs.position.value.copy()
    run(root, 100)
    assert body.dofs.position.value == pytest.approx(before, abs=1e-6)
    assert np.abs(before - body.dofs.rest_position.value).max() < 0.01


# -- forces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_the_floor_carries_the_weight(root, touching, soft_body, box, run, mu, method):
    """At rest the multipliers add up to dt m g, upwards; the mass is density times volume.
    1e-6: motion left after 100 damped steps."""
    root.gravity = [0.0, 0.0, -G]
    pipeline = touching(root, mu=mu, method=method)
    plane(root)
    mesh = box((2, 2, 2), (1.0, 1.0, 1.0), shake=0.2)
    values = {"young": 2e3, "poisson": 0.3, "method": "large", "rayleighStiffness": 0.02}
    body = soft(root, soft_body, mesh, at=(0.3, 0.1, 0.06), density=1.5, **values)
    run(root, 100)
    carried = force_on(pipeline, body.surface)
    assert carried == pytest.approx([0.0, 0.0, 1.5 * G], abs=1.5e-6 * G)
    assert pushes(pipeline)[:, 0].sum() / 0.01 == pytest.approx(1.5 * G, rel=1e-6)


@pytest.mark.parametrize("shorter", [1e-3, 2e-3])
def test_a_rod_against_a_wall_carries_its_stiffness_times_its_shortening(
    root, touching, soft_body, box, run, shorter
):
    """F = E A u / L: without Poisson's effect the even shortening is in the space of the elements.
    Steps of first order, long against the relaxation (E = 1, mass per volume 1e-6), so that one
    step is the equilibrium, to 1e-6, and lambda is the force itself."""
    root.dt = 10.0
    pipeline = touching(root, mu=0.0)
    plane(root, height=-0.05 + shorter)
    mesh = box((2, 2, 4), (0.5, 0.4, 2.0))
    rod = soft(root, soft_body, mesh, young=3.0, density=1e-6, firstOrder=True)
    top = np.flatnonzero(mesh[0][:, 2] > 2.0 - 1e-9)
    rod.addObject("FixedProjectiveConstraint", indices=top.tolist())
    run(root, 1)
    force = pushes(pipeline)[:, 0].sum()
    assert force == pytest.approx(3.0 * 0.5 * 0.4 * shorter / 2.0, rel=1e-5)


def quarter_of_a_tip(radius, finest, cells, growth):
    """The tip of a ball, x >= 0 and y >= 0: a block whose underside is z = r^2 / (2 R).

    Cells grow from `finest` at the tip by a factor each, along every axis.

    Returns:
        Positions (n, 3), tetrahedra (m, 4), and how long the block's sides are.
    """
    line = np.concatenate([[0.0], np.cumsum(finest * growth ** np.arange(cells))])
    x, y, z = (a.ravel() for a in np.meshgrid(line, line, line, indexing="ij"))
    lifted = z + (x**2 + y**2) / (2.0 * radius) * (1.0 - z / line[-1])
    count = cells + 1
    strides = np.array([count * count, count, 1])
    cubes = itertools.product(range(cells), repeat=3)
    tetrahedra = [
        strides @ corner + np.cumsum([0, *order])
        for corner in cubes
        for order in itertools.permutations(strides)
    ]
    return np.stack([x, y, lifted], axis=1), np.array(tetrahedra), line[-1]


@pytest.fixture
def press_a_tip(touching, soft_body):
    """Presses a plane against the tip of a ball, in one step of equilibrium."""

    def force(root, approach, radius=4.0, young=1.0, poisson=0.3):
        """Force on a whole tip whose far end is held [force]."""
        points, tetrahedra, size = quarter_of_a_tip(radius, 0.03, 9, 1.35)
        root.dt = 10.0
        pipeline = touching(root, mu=0.0, alarm=0.3)
        plane(root, height=-0.05 + approach)
        body = soft(
            root, soft_body, (points, tetrahedra), young=young, poisson=poisson,
            density=1e-6, firstOrder=True,
        )  # fmt: skip
        x, y, z = points.T
        held = np.flatnonzero(z > size - 1e-9).tolist()
        body.addObject("FixedProjectiveConstraint", indices=held)
        for axis, side in ((0, x), (1, y)):
            only = [int(k == axis) for k in range(3)]
            on = np.flatnonzero(side < 1e-9).tolist()
            body.addObject("PartialFixedProjectiveConstraint", indices=on, fixedDirections=only)
        simulation.init(root)
        simulation.animate(root, root.dt.value)
        return 4.0 * pushes(pipeline)[:, 0].sum()

    return force
