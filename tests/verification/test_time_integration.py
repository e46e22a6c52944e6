"""Backward Euler against its own discrete closed forms, and against continuous time in the limit.

A particle of mass m on a spring k, with Rayleigh damping alpha M + beta K, h = dt and tau = 1
(1/2: trapezoidal), has the step
    v+ = ((1 - (1 - tau) h alpha) m v - h k x - (1 - tau) h (tau h + beta) k v) / A,
    x+ = x + h v+,   A = (1 + tau h alpha) m + tau h (tau h + beta) k.
"""

import math

import numpy as np
import pytest
import scipy.linalg

MASS, STIFFNESS = 0.8, 50.0


def states(node):
    """Position and velocity of all nodes."""
    return node.dofs.position.array().copy(), node.dofs.velocity.array().copy()


def set_state(node, *, position=None, velocity=None):
    if position is not None:
        node.dofs.position.value = position
    if velocity is not None:
        node.dofs.velocity.value = velocity


def on_a_spring(root, particles, **integrator):
    """One particle at rest in the origin, on a spring in all directions."""
    node = particles(root, [[0.0, 0.0, 0.0]], mass=MASS, **integrator)
    node.addObject("RestShapeSpringsForceField", name="spring", stiffness=STIFFNESS)
    return node


def amplification(root, node, run):
    """What one step makes of (x, v), measured with one state in each of two directions."""
    run(root, 0)
    set_state(node, position=[[1.0, 0.0, 0.0]], velocity=[[0.0, 1.0, 0.0]])
    run(root, 1)
    x, v = states(node)
    return np.array([x[0, :2], v[0, :2]])


def closed_form(h, alpha=0.0, beta=0.0, tau=1.0):
    """The matrix of the module's docstring."""
    A = (1.0 + tau * h * alpha) * MASS + tau * h * (tau * h + beta) * STIFFNESS
    kept = (1.0 - (1.0 - tau) * h * alpha) * MASS - (1.0 - tau) * h * (tau * h + beta) * STIFFNESS
    v = np.array([-h * STIFFNESS, kept]) / A
    return np.array([[1.0, 0.0], [0.0, 0.0]]) + np.outer([h, 1.0], v)


# -- free fall ---------------------------------------------------------------------------------


def test_free_fall_is_the_sum_of_backward_eulers_steps(root, particles, run):
    """v_n = v_0 + n h g and x_n = x_0 + n h v_0 + h^2 g n (n + 1) / 2; rounding of 50 sums."""
    g, h, n = np.array([0.5, -9.81, 2.0]), 0.02, 50
    root.dt, root.gravity = h, g.tolist()
    x0, v0 = np.array([[0.0, 1.0, 2.0], [5.0, 5.0, 5.0]]), np.array([[1.0, 2.0, 3.0], [0, 0, 0]])
    node = particles(root, x0.tolist())
    run(root, 0)
    set_state(node, velocity=v0)
    run(root, n)
    x, v = states(node)
    assert v == pytest.approx(v0 + n * h * g, abs=1e-13)
    assert x == pytest.approx(x0 + n * h * v0 + h**2 * g * n * (n + 1) / 2.0, abs=1e-13)
    assert root.time.value == pytest.approx(n * h)


@pytest.mark.parametrize("mass", ["DiagonalMass", "MeshMatrixMass"])
@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_an_elastic_body_falls_like_a_point(method, mass, root, box, soft_body, run):
    """Gravity alone does not deform: every node moves by h^2 g n (n + 1) / 2, whatever the mass
    matrix and the elements. Rounding of forces, E h^2 n^2 eps, stays below 1e-12."""
    root.gravity = [0.0, -9.81, 0.0]
    mesh = points, _ = box((2, 1, 2), (1.0, 0.5, 1.0), shake=0.1)
    node = soft_body(
        root, mesh, mass=mass, method=method, young=100.0, poisson=0.4, rayleighStiffness=0.1
    )
    run(root, 20)
    fall = root.dt.value**2 * 9.81 * 20 * 21 / 2.0
    assert states(node)[0] == pytest.approx(points - [0.0, fall, 0.0], abs=1e-12)


def test_the_error_of_free_fall_halves_with_the_step(root, particles, run):
    """x(T) - g T^2 / 2 = g h T / 2 exactly: first order, the log2 of the ratio is 1."""
    errors = []
    for steps in (50, 100):
        scene = type(root)(f"steps{steps}", dt=1.0 / steps, gravity=[0.0, 0.0, -10.0])
        node = particles(scene, [[0.0, 0.0, 0.0]])
        run(scene, steps)
        errors.append(states(node)[0][0, 2] + 5.0)
    assert errors[0] == pytest.approx(-10.0 / 50 / 2.0, abs=1e-12)
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=1e-10)


# -- a particle on a spring ----------------------------------------------------------------------


@pytest.mark.parametrize("trapezoidal", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (1.5, 0.0), (0.0, 0.03), (1.5, 0.03)])
def test_a_step_is_the_closed_form(alpha, beta, trapezoidal, root, particles, run):
    """(x, v) -> the matrix of the module's docstring, to rounding."""
    node = on_a_spring(
        root, particles, rayleighMass=alpha, rayleighStiffness=beta, trapezoidalScheme=trapezoidal
    )
    expected = closed_form(0.01, alpha, beta, 0.5 if trapezoidal else 1.0)
    assert amplification(root, node, run) == pytest.approx(expected, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(("alpha", "beta"), [(1.5, 0.0), (0.0, 0.03), (1.5, 0.03)])
def test_rayleigh_damping_tends_to_its_continuous_rate(alpha, beta, root, particles, run):
    """x ~ exp(-r t), r = (alpha + beta w^2) / 2, w^2 = k / m. A step multiplies by |eigenvalue|,
    the measured rate -log|z| / h is off by O(h): the log2 of the ratio of errors is 1."""
    rate = (alpha + beta * STIFFNESS / MASS) / 2.0
    errors = []
    for h in (2e-4, 1e-4):
        scene = type(root)(f"scene{h}", dt=h, gravity=[0, 0, 0])
        node = on_a_spring(scene, particles, rayleighMass=alpha, rayleighStiffness=beta)
        z = np.linalg.eigvals(amplification(scene, node, run))
        errors.append(-math.log(abs(z[0])) / h - rate)
    assert abs(errors[1]) < 0.02 * rate
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.02)


def test_the_trapezoidal_scheme_damps_half_as_much(root, particles, run):
    """|z|^2 = 1 / (1 + a) for backward Euler and (1 - a/4) / (1 + a/4) with tau = 1/2, a = h^2 k/m:
    rates h k / (2 m) and h k / (4 m). (x+ = x + h v+ keeps SOFA's scheme at first order.)"""
    a = 0.01**2 * STIFFNESS / MASS
    decays = []
    for trapezoidal in (False, True):
        scene = type(root)(f"scene{trapezoidal}", dt=0.01, gravity=[0, 0, 0])
        node = on_a_spring(scene, particles, trapezoidalScheme=trapezoidal)
        decays.append(np.linalg.det(amplification(scene, node, run)))
    assert decays == pytest.approx(
        [1.0 / (1.0 + a), (1.0 - a / 4.0) / (1.0 + a / 4.0)], rel=1e-13, abs=0.0
    )


def test_a_components_own_rayleigh_damping_acts_on_the_matrix_alone(root, particles, run):
    """SOFA's rule: r_s of a force field and r_m of a mass add tau h r_s K and tau h r_m M to A, and
    nothing to b: v+ = v - h k (x + h v) / A, A = (1 + h r_m) m + h (h + r_s) k."""
    h, r_s, r_m = 0.01, 0.4, 3.0
    node = on_a_spring(root, particles)
    node.spring.rayleighStiffness.value = r_s
    node.mass.rayleighMass.value = r_m
    A = (1.0 + h * r_m) * MASS + h * (h + r_s) * STIFFNESS
    v = np.array([-h * STIFFNESS / A, 1.0 - h**2 * STIFFNESS / A])
    expected = np.array([[1.0, 0.0], [0.0, 0.0]]) + np.outer([h, 1.0], v)
    assert amplification(root, node, run) == pytest.approx(expected, rel=1e-13, abs=0.0)


def test_first_order_goes_to_equilibrium_by_the_same_factor_each_step(root, particles, run):
    """(m + h k) v = m g - k x: x - m g / k is multiplied by m / (m + h k), at any velocity."""
    root.gravity = [0.0, -9.81, 0.0]
    node = on_a_spring(root, particles, firstOrder=True, rayleighMass=9.0, rayleighStiffness=9.0)
    run(root, 0)
    set_state(node, velocity=[[7.0, 7.0, 7.0]])
    rest, factor = -MASS * 9.81 / STIFFNESS, MASS / (MASS + 0.01 * STIFFNESS)
    for n in range(1, 5):
        run(root, 1)
        expected = [[0.0, rest * (1.0 - factor**n), 0.0]]
        assert states(node)[0] == pytest.approx(np.array(expected), abs=1e-15)


def test_first_order_ignores_the_components_own_damping(root, particles, run):
    """Nothing of Rayleigh's damping enters (M + h K) v = f."""
    node = on_a_spring(root, particles, firstOrder=True)
    node.spring.rayleighStiffness.value = 5.0
    node.mass.rayleighMass.value = 5.0
    expected = -STIFFNESS / (MASS + 0.01 * STIFFNESS)
    assert amplification(root, node, run)[1] == pytest.approx([expected, 0.0], rel=1e-14, abs=0.0)


# -- decay of the velocity, separate gravity -----------------------------------------------------


def test_vdamping_comes_after_the_move(root, particles, run):
    """DefaultAnimationLoop: x_n = x_0 + h v_0 (1 + d + ... + d^(n-1)) and v_n = d^n v_0 with
    d = exp(-h c)."""
    h, c, n = 0.01, 20.0, 10
    node = particles(root, [[0.0, 0.0, 0.0]], vdamping=c)
    run(root, 0)
    set_state(node, velocity=[[3.0, 0.0, 0.0]])
    run(root, n)
    x, v = states(node)
    d = math.exp(-h * c)
    assert v[0, 0] == pytest.approx(3.0 * d**n, rel=1e-14, abs=0.0)
    assert x[0, 0] == pytest.approx(3.0 * h * (1.0 - d**n) / (1.0 - d), rel=1e-14, abs=0.0)


def test_vdamping_comes_before_the_move_where_there_are_constraints(root, particles, run):
    """FreeMotionAnimationLoop: x = x + h v_free with the damped velocity, one factor d more."""
    h, c, n = 0.01, 20.0, 10
    root.addObject("FreeMotionAnimationLoop")
    node = particles(root, [[0.0, 0.0, 0.0]], vdamping=c)
    node.addObject("LinearSolverConstraintCorrection")
    run(root, 0)
    set_state(node, velocity=[[3.0, 0.0, 0.0]])
    run(root, n)
    x, v = states(node)
    d = math.exp(-h * c)
    assert v[0, 0] == pytest.approx(3.0 * d**n, rel=1e-14, abs=0.0)
    assert x[0, 0] == pytest.approx(3.0 * h * d * (1.0 - d**n) / (1.0 - d), rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("loop", "shift"), [("DefaultAnimationLoop", 0), ("FreeMotionAnimationLoop", 1)]
)
def test_separate_gravity_is_added_to_the_velocity_after_the_step(
    loop, shift, root, particles, run
):
    """v += h g at the end of the integrator: v_n = n h g. Without constraints it moves the node
    only in the next step, x_n = h^2 g n (n - 1) / 2; with them x = x + h v_free has it at once,
    x_n = h^2 g n (n + 1) / 2."""
    root.gravity = [0.0, -9.81, 0.0]
    root.addObject(loop)
    node = particles(root, [[0.0, 0.0, 0.0]])
    if shift:
        node.addObject("LinearSolverConstraintCorrection")
    node.mass.separateGravity.value = True
    run(root, 10)
    x, v = states(node)
    assert v[0, 1] == pytest.approx(-9.81 * 0.1, rel=1e-14, abs=0.0)
    assert x[0, 1] == pytest.approx(-9.81 * 1e-4 * 10 * (9 + 2 * shift) / 2.0, rel=1e-14, abs=0.0)


# -- a beam --------------------------------------------------------------------------------------


def beam(root, box, soft_body, **options):
    """A clamped beam of 2 x 2 x 6 cells, and which of its unknowns are free."""
    mesh = points, _ = box((2, 2, 6), (1.0, 1.0, 4.0))
    node = soft_body(root, mesh, young=1e4, poisson=0.3, **options)
    foot = np.flatnonzero(points[:, 2] < 1e-9)
    node.addObject("FixedProjectiveConstraint", indices=foot.tolist())
    free = np.ones((len(points), 3), bool)
    free[foot] = False
    return node, points, free


def first_mode(matrices, root, free):
    """Angular frequency and shape of the beam's lowest mode."""
    M, K = (matrix[np.ix_(free.ravel(), free.ravel())] for matrix in matrices(root))
    squares, shapes = scipy.linalg.eigh(K, M, subset_by_index=[0, 0])
    shape = np.zeros(free.shape)
    shape[free] = shapes[:, 0]
    return math.sqrt(squares[0]), shape


@pytest.mark.parametrize("scheme", ["euler", "trapezoidal", "matrix mass"])
def test_the_error_of_an_oscillating_beam_halves_with_the_step(
    scheme, root, box, soft_body, run, matrices
):
    """u(t) = sin(w t) / w phi for an initial velocity phi in the lowest mode. After a quarter of a
    period the error is C h: the log2 of the ratio at 200 and 400 steps is 1. 0.05: next order."""
    errors = []
    for steps in (200, 400):
        scene = type(root)(f"steps{steps}", gravity=[0, 0, 0])
        node, points, free = beam(
            scene, box, soft_body, trapezoidalScheme=scheme == "trapezoidal",
            mass="MeshMatrixMass" if scheme == "matrix mass" else "DiagonalMass",
        )  # fmt: skip
        run(scene, 0)
        frequency, shape = first_mode(matrices, scene, free)
        scene.dt.value = math.pi / 2.0 / frequency / steps
        set_state(node, velocity=shape)
        run(scene, steps)
        error = states(node)[0] - points - shape / frequency
        errors.append(np.abs(error).max() * frequency / np.abs(shape).max())
    assert errors[1] < 0.01
    assert math.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.05)


def test_backward_euler_loses_exactly_the_energy_of_its_increments(
    root, box, soft_body, run, matrices
):
    """For linear forces E+ - E = -(dv M dv + dx K dx) / 2 with dv = v+ - v and dx = h v+: never
    growth, and no other loss. Rounding: 1e-12 of the energy."""
    root.dt = 0.02
    node, points, free = beam(root, box, soft_body)
    run(root, 0)
    M, K = matrices(root)
    held = ~free.ravel()
    K[held] = M[held] = 0.0

    def energy(v, u):
        return (v.ravel() @ M @ v.ravel() + u.ravel() @ K @ u.ravel()) / 2.0

    set_state(node, velocity=np.random.default_rng(0).uniform(-1, 1, points.shape) * free)
    x, v = states(node)
    start = energy(v, x - points)
    for _ in range(50):
        run(root, 1)
        x1, v1 = states(node)
        change = energy(v1, x1 - points) - energy(v, x - points)
        assert change == pytest.approx(-energy(v1 - v, x1 - x), abs=1e-12 * start)
        assert change < 0.0
        x, v = x1, v1


@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_a_free_body_never_moves_more_than_at_the_start(method, root, box, soft_body, run):
    """Random velocities and no strain: all energy is kinetic at the start, so that it is an upper
    bound of what is kinetic later, and the step damps what deforms."""
    root.dt = 0.1
    mesh = points, _ = box((2, 1, 2), (1.0, 0.5, 1.0))
    node = soft_body(root, mesh, method=method, young=1e3, poisson=0.3)
    run(root, 0)
    set_state(node, velocity=np.random.default_rng(1).uniform(-0.3, 0.3, points.shape))
    mass = node.mass.vertexMass.array()[:, None]
    energies = [np.sum(mass * states(node)[1] ** 2)]
    for _ in range(30):
        run(root, 1)
        energies.append(np.sum(mass * states(node)[1] ** 2))
    assert max(energies) == energies[0]
    assert energies[-1] < 0.5 * energies[0]


# -- momentum ------------------------------------------------------------------------------------


def momentum(node, matrices, root):
    """sum of M v, shape (3,), M as it stands in the system's matrix."""
    M, _ = matrices(root)
    return (M @ states(node)[1].ravel()).reshape(-1, 3).sum(axis=0)


@pytest.mark.parametrize("mass", ["DiagonalMass", "MeshMatrixMass"])
@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_linear_momentum_changes_by_mass_damping_alone(
    damping, method, mass, root, box, soft_body, run, matrices
):
    """P+ = P / (1 + h alpha): elastic forces and stiffness-proportional damping are internal, even
    with corotational elements that are far from rest. Rounding: forces of 10 over 20 steps."""
    mesh = points, _ = box((2, 1, 2), (1.0, 0.5, 1.0))
    node = soft_body(
        root, mesh, mass=mass, method=method, young=100.0, poisson=0.3, rayleighStiffness=0.01,
        rayleighMass=damping,
    )  # fmt: skip
    run(root, 0)
    set_state(node, velocity=np.random.default_rng(2).uniform(-2.0, 2.0, points.shape) + [1, 0, 2])
    start = momentum(node, matrices, root)
    run(root, 20)
    assert np.abs(states(node)[0] - points - 0.2 * np.array([1.0, 0, 2])).max() > 0.05
    expected = start / (1.0 + 0.01 * damping) ** 20
    assert momentum(node, matrices, root) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_a_body_that_glides_keeps_its_angular_momentum(method, root, box, soft_body, run):
    """sum of x cross m v is constant for v the same everywhere; rounding."""
    mesh = points, _ = box((2, 1, 2), (1.0, 0.5, 1.0))
    node = soft_body(root, mesh, method=method, young=100.0, poisson=0.3)
    run(root, 0)
    set_state(node, velocity=np.broadcast_to([3.0, -2.0, 1.0], points.shape))
    mass = node.mass.vertexMass.array()[:, None]
    start = np.cross(points, mass * states(node)[1]).sum(axis=0)
    run(root, 50)
    x, v = states(node)
    assert x == pytest.approx(points + 0.5 * np.array([3.0, -2.0, 1.0]), abs=1e-13)
    assert np.cross(x, mass * v).sum(axis=0) == pytest.approx(start, abs=1e-13)
