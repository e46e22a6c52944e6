"""Contacts: closed forms of bodies on slopes and floors, balances of momentum and energy, a rod
against a wall, Hertz' law."""

import itertools
import math

import numpy as np
import pytest

from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation

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
    """Force of all contacts of the last step on the collision models of a node, shape (3,)."""
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


@pytest.mark.soak(keep=3)
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


@pytest.mark.soak(keep=4)
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


@pytest.mark.soak
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


@pytest.mark.soak
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
        points, tetrahedra, size = quarter_of_a_tip(radius, 0.03, 11, 1.45)
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


@pytest.mark.soak
def test_a_soft_tip_stiffens_as_hertz_says(press_a_tip):
    """F = 4/3 E / (1 - nu^2) sqrt(R) d^1.5 while the spot, sqrt(R d) = 0.13 to 0.36, is small
    against the block (3.9) and many cells wide (0.03 to 0.1 each there): a linear spring would have
    the exponent 1, a cone 2. Fitted over 8 times the approach: 1.5 within 0.05, for the spot grows
    by whole nodes. The force itself is 20 % high at most: linear tetrahedra are too stiff, and the
    block has an end."""
    approach = np.array([0.004, 0.008, 0.016, 0.032])
    force = [press_a_tip(Node("root", gravity=[0.0, 0.0, 0.0]), d) for d in approach]
    exponent = np.polyfit(np.log(approach), np.log(force), 1)[0]
    assert exponent == pytest.approx(1.5, abs=0.05)
    hertz = 4.0 / 3.0 / (1.0 - 0.3**2) * math.sqrt(4.0) * approach**1.5
    assert (force > hertz).all()
    assert (force < 1.2 * hertz).all()


# -- balances ------------------------------------------------------------------------------------


def motion(*bodies):
    """Position and velocity of all nodes of bodies, one after the other."""
    states = [body.dofs for body in bodies]
    return (
        np.concatenate([state.position.value for state in states]),
        np.concatenate([state.velocity.value for state in states]),
    )


@pytest.mark.parametrize("mu", [0.0, 0.6])
def test_colliding_particles_keep_their_momentum(root, touching, particles, run, mu):
    """Linear: push and counter-push are one number. Angular: x' = x + h v' gives
    x' x v' - x x v = x x (v' - v), the moment of the pushes at the start of the step. The normal
    ones act along the line of centres and have none; friction acts at both centres, and has that of
    the way between them, d n x lambda_t. The rest is rounding."""
    pipeline = touching(root, mu=mu)
    one = ball(root, particles, (0.0, 0.0, 0.0), velocity=(5.0, 1.0, 0.3), mass=2.0, name="one")
    two = ball(root, particles, (1.3, 0.4, -0.2), velocity=(-3.0, 0.2, 1.0), mass=0.7, name="two")
    mass = np.array([2.0, 0.7])[:, None]
    touched = rubbed = 0
    simulation.init(root)
    for _ in range(30):
        x, v = motion(one, two)
        run(root, 1)
        x_new, v_new = motion(one, two)
        assert (mass * (v_new - v)).sum(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=1e-14)
        gain = (mass * (np.cross(x_new, v_new) - np.cross(x, v))).sum(axis=0)
        moment = np.zeros(3)
        for entry in pipeline.contacts:
            ((first, second),) = entry.near.point
            ((_, *tangential),) = entry.force
            moment += np.cross(second - first, tangential @ entry.frames[0, 1:])
            touched += entry.force[0, 0] > 0.0
            rubbed += np.abs(moment).max() > 0.01
        assert gain == pytest.approx(moment, abs=1e-13)
    assert touched > 0
    assert (rubbed > 0) == (mu > 0.0)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_colliding_soft_bodies_keep_their_momentum(root, touching, soft_body, box, run, mu):
    """Two cubes thrown at each other, one turned against the other; no integrator holds them, so
    that the sum of m v changes by rounding alone: 1e-12 of m v."""
    touching(root, mu=mu)
    mesh = box((2, 2, 2), (1.0, 1.0, 1.0))
    c, s = math.cos(0.4), math.sin(0.4)
    turned = (mesh[0] @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T, mesh[1])
    values = {"young": 500.0, "poisson": 0.3, "method": "large"}
    one = soft(root, soft_body, mesh, name="one", velocity=(3.0, 0.0, 0.0), **values)
    two = soft(
        root, soft_body, turned, name="two", at=(1.8, 0.3, 0.2), velocity=(-2.0, 0.0, 0.0),
        density=2.0, **values,
    )  # fmt: skip
    simulation.init(root)

    def momentum():
        masses = (body.mass.vertexMass.value for body in (one, two))
        speeds = (body.dofs.velocity.value for body in (one, two))
        return sum(np.asarray(m).ravel() @ v for m, v in zip(masses, speeds, strict=True))

    before = momentum()
    assert before == pytest.approx([-1.0, 0.0, 0.0])
    run(root, 60)
    assert momentum() == pytest.approx(before, abs=1e-12)
    assert one.dofs.velocity.value[:, 0].mean() < 0.5  # they met


def energy(node, stiffness, gravity):
    """Kinetic energy, that of linear elasticity, and that of the weight."""
    x, v = motion(node)
    mass = np.broadcast_to(node.mass.vertexMass.value, len(x))
    u = (x - node.dofs.rest_position.value).ravel()
    kinetic = 0.5 * mass @ (v**2).sum(axis=1)
    return kinetic + 0.5 * u @ stiffness @ u - mass @ x @ np.asarray(gravity)


@pytest.mark.soak(keep=3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("speed", [(0.0, 0.0, 0.0), (3.0, 1.0, -8.0)])
def test_the_floor_gives_no_energy_to_a_ball(root, touching, particles, run, mu, speed, method):
    """A step that closes a gap ends at the contact distance, so the push lambda_n works along
    -gap <= 0, friction against the slip, and Euler's step only loses: the energy never grows,
    to 1e-9 of it that the iteration leaves. It has nothing to bounce with: what moves into the
    floor is lost at once."""
    root.gravity = [0.0, 0.0, -G]
    touching(root, mu=mu, method=method)
    plane(root)
    body = ball(root, particles, (0.3, 0.1, 1.3), velocity=speed)
    simulation.init(root)
    energies = [energy(body, np.zeros((3, 3)), root.gravity.value)]
    for _ in range(80):
        run(root, 1)
        energies.append(energy(body, np.zeros((3, 3)), root.gravity.value))
    assert np.diff(energies).max() <= 1e-9 * energies[0]
    assert body.dofs.position.value[0, 2] == pytest.approx(0.55, abs=1e-9)


@pytest.mark.soak
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_soft_body_gets_no_energy_from_the_floor(
    root, touching, soft_body, box, run, matrices, mu
):
    """Linear elasticity, which Euler's step takes exactly, so that it only loses; contacts work
    along -gap. With one flat obstacle the gaps of a step are those that the step before left:
    1e-9 of the energy. The block is thrown turning; it bounces, as it is soft."""
    root.gravity = [0.0, 0.0, -G]
    touching(root, mu=mu, alarm=0.5)
    plane(root)
    mesh = box((2, 2, 2), (1.0, 1.0, 1.0), shake=0.2)
    body = soft(root, soft_body, mesh, at=(0.3, 0.1, 0.06), young=1e3)
    start = np.array([2.0, 0.0, -3.0]) + np.outer(mesh[0][:, 2], [1.0, 0.0, 0.0])
    body.dofs.velocity = start.tolist()
    simulation.init(root)
    stiffness = matrices(root)[1]
    energies, up = [energy(body, stiffness, root.gravity.value)], []
    for _ in range(200):
        run(root, 1)
        energies.append(energy(body, stiffness, root.gravity.value))
        up.append(body.dofs.velocity.value[:, 2].mean())
    assert max(up) > 0.1
    assert np.diff(energies).max() <= 1e-9 * energies[0]


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_colliding_soft_bodies_gain_no_energy(root, touching, soft_body, box, run, matrices, mu):
    """Two cubes thrown at each other obliquely, linear elasticity. Their surfaces turn, so that a
    gap seen along the new normal differs from the one left along the old one; what is below zero
    is pushed out at once, with a work of lambda times that overlap: never more than 1e-6 of the
    energy in a step, and over the whole collision it falls."""
    touching(root, mu=mu)
    mesh = box((2, 2, 2), (1.0, 1.0, 1.0))
    one = soft(root, soft_body, mesh, name="one", velocity=(3.0, 0.0, 0.0), young=500.0)
    two = soft(
        root,
        soft_body,
        mesh,
        name="two",
        at=(1.5, 0.3, 0.2),
        velocity=(-2.0, 0.5, 0.0),
        young=500.0,
    )
    simulation.init(root)
    stiffness = [matrices(root, k)[1] for k in (0, 1)]

    def total():
        pairs = zip((one, two), stiffness, strict=True)
        return sum(energy(body, K, [0.0, 0.0, 0.0]) for body, K in pairs)

    energies = [total()]
    for _ in range(60):
        run(root, 1)
        energies.append(total())
    assert one.dofs.velocity.value[:, 0].mean() < 1.5
    assert np.diff(energies).max() <= 1e-6 * energies[0]
    assert energies[-1] < 0.9 * energies[0]


@pytest.mark.soak(keep=2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mu", [0.2, 0.8])
def test_every_step_keeps_coulombs_law(root, touching, soft_body, box, run, method, mu):
    """A soft block thrown onto a slope, turning: in each step |lambda_t| <= mu lambda_n, gaps stay
    at or above zero, pushes act only at closed gaps, and friction takes energy away. 1e-9: what
    the iteration leaves (its tolerance 1e-12 for the sum of motions, times compliances' ratios)."""
    tilt(root, 15.0)
    pipeline = touching(root, mu=mu, method=method)
    plane(root)
    mesh = box((2, 2, 2), (1.0, 1.0, 1.0))
    body = soft(
        root, soft_body, mesh, at=(0.3, 0.1, 0.2), young=2e3, poisson=0.3, method="large",
        rayleighStiffness=0.01,
    )  # fmt: skip
    points = mesh[0] - 0.5
    body.dofs.velocity = (np.cross([0.3, 2.0, 0.2], points) + [1.0, 0.3, -2.0]).tolist()
    simulation.init(root)
    kinds, solved = set(), 0
    for _ in range(80):
        run(root, 1)
        if root.solver.currentIterations.value > 2000:
            continue
        solved += 1
        force, gap = pushes(pipeline), gaps(pipeline)
        friction = np.linalg.norm(force[:, 1:], axis=1)
        assert (friction <= mu * force[:, 0] * (1.0 + 1e-12)).all()
        assert (gap[:, 0] >= -1e-9).all()
        assert (np.abs(force[:, 0] * gap[:, 0]) <= 1e-9).all()
        assert ((force[:, 1:] * gap[:, 1:]).sum(axis=1) <= 1e-9).all()
        closed = force[:, 0] > 1e-6
        slides = np.linalg.norm(gap[:, 1:], axis=1) > 1e-6
        kinds |= set(np.where(slides[closed], "slides", "sticks"))
    assert solved > 60
    assert kinds == ({"slides", "sticks"} if mu > math.tan(math.radians(15.0)) else {"slides"})


@pytest.mark.soak
def test_the_time_of_impact_is_exact_to_half_a_step(touching, particles, run):
    """Euler's x_n = x_0 - g t (t + dt) / 2 reaches the floor dt / 2 before the parabola does: of
    first order. The gap is interpolated in the step that closes it, which adds a dt^2 g / 8 over
    the speed at most: 1.25e-3 of the dt / 2 and less."""
    early = []
    for step in (4e-3, 2e-3, 1e-3):
        root = Node("root", dt=step, gravity=[0.0, 0.0, -G])
        pipeline = touching(root, mu=0.0, alarm=0.4)
        plane(root)
        body = ball(root, particles, (0.3, 0.1, 1.55))
        simulation.init(root)
        while not (pushes(pipeline)[:, 0] > 0.0).any():
            before = body.dofs.position.value[0, 2] - 0.55
            speed = body.dofs.velocity.value[0, 2] - G * step
            run(root, 1)
        closes = root.time.value - step + before / -speed
        early.append(math.sqrt(2.0 * 1.0 / G) - closes)
    assert early == pytest.approx([2e-3, 1e-3, 5e-4], rel=0.01)
    assert np.diff(np.log2(early)) == pytest.approx([-1.0, -1.0], abs=0.02)


# -- rigid bodies ---------------------------------------------------------------------------------


def rigid(root, points, triangles, *, height, mass=2.0, inertia=(1.0, 1.0, 1.0), kinds=None):
    """A rigid body with its centre at this height; inertia about its axes over its mass."""
    node = root.addChild("rigid")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[0, 0, height, 0, 0, 0, 1]]
    )
    xx, yy, zz = inertia
    node.addObject("UniformMass", vertexMass=f"{mass} 1 [{xx} 0 0,0 {yy} 0,0 0 {zz}]")
    node.addObject("LinearSolverConstraintCorrection")
    surface = node.addChild("surface")
    places = np.asarray(points).tolist()
    if triangles is not None:
        surface.addObject("MeshTopology", position=places, triangles=triangles.tolist())
    surface.addObject("MechanicalObject", name="dofs", position=places)
    for kind in kinds or ("Triangle", "Line", "Point"):
        surface.addObject(f"{kind}CollisionModel")
    surface.addObject("RigidMapping")
    return node


@pytest.mark.parametrize(("mu", "degrees"), [(0.3, 25.0), (0.6, 25.0)])
def test_a_rigid_cube_slides_or_sticks(root, touching, box, run, mu, degrees):
    """A flat brick, so that it does not tip: at g (sin a - mu cos a), or not at all. 1e-6 of g:
    its four corners hold more than it takes, and the iteration stops within its tolerance."""
    sin, cos = tilt(root, degrees)
    pipeline = touching(root, mu=mu)
    plane(root)
    points, tetrahedra = box((1, 1, 1), (1.0, 1.0, 0.3))
    points = points - points.mean(axis=0)
    inertia = np.array([1.09, 1.09, 2.0]) / 12.0
    body = rigid(root, points, skin(points, tetrahedra), height=0.2, inertia=inertia)
    run(root, 50)
    speed_up = G * max(0.0, sin - mu * cos)
    x, v = motion(body)
    assert v[0, :3] == pytest.approx([0.5 * speed_up, 0.0, 0.0], abs=1e-6 * G)
    assert v[0, 3:] == pytest.approx([0.0, 0.0, 0.0], abs=1e-5)
    assert x[0, 2] == pytest.approx(0.2, abs=1e-6)
    carried = force_on(pipeline, body.surface)
    assert carried == pytest.approx([-2.0 * (G * sin - speed_up), 0.0, 2.0 * G * cos], abs=1e-4 * G)


@pytest.mark.parametrize(("mu", "share"), [(0.5, 2.0 / 3.0), (0.0, 1.0)])
def test_a_cylinder_rolls_down_a_slope(touching, run, mu, share):
    """Without slip g sin a / (1 + I / (m R^2)) = 2/3 g sin a; without friction g sin a, and it
    does not turn. It has 400 corners: each one that lands stops the body by
    2 sin^2(pi / 400) / (1 + I / m R^2) of its speed, 1 % in a turn of one radian, of which it makes
    0.7: 2 %."""
    root = Node("root", dt=0.005)
    sin, _ = tilt(root, 20.0)
    touching(root, mu=mu, method="LocalMinDistance", alarm=0.01, contact=0.001)
    plane(root)
    angle = 2.0 * math.pi * np.arange(400) / 400.0
    rim = np.stack([np.sin(angle), 0.0 * angle, -np.cos(angle)], axis=1)
    points = np.concatenate([rim + [0.0, side, 0.0] for side in (-0.5, 0.5)])
    across = 1.0 / 4.0 + 1.0 / 12.0
    body = rigid(root, points, None, height=1.001, inertia=(across, 0.5, across), kinds=("Point",))
    run(root, 160)
    x, v = motion(body)
    expected = share * G * sin * 0.8
    assert v[0, 0] == pytest.approx(expected, rel=0.02)
    assert v[0, 4] == pytest.approx(expected if mu else 0.0, abs=0.02 * expected)
    assert x[0, [1, 2]] == pytest.approx([0.0, 1.001], abs=1e-3)
