"""Potential flow against closed forms, with orders of convergence."""

import math

import numpy as np
import pytest
from softctl_swimmer import (
    Flow,
    Hinge,
    Link,
    Swimmer,
    added_mass_of,
    ellipsoid_added_mass,
    ellipsoid_surface,
    fish,
    raw_added_mass,
)
from softctl_swimmer.flow.equation import equation, self_block

AXES = (1.0, 0.3, 0.5)


def added_mass_alone(axes, count, **options):
    swimmer = Swimmer((Link(axes),), fluid_density=1.0)
    flow = Flow.from_swimmer(swimmer, skins=[ellipsoid_surface(axes, count, **options)])
    return added_mass_of(flow, [], flow.solve([]).f)


def potentials_of_two(skins, offset):
    """f for the twelve unit twists of two free bodies, and their fluxes, each (P, 12)."""
    rotations, positions = np.stack([np.eye(3)] * 2), np.array([np.zeros(3), offset])
    here = equation(skins, [self_block(skin) for skin in skins], rotations, positions)
    f = np.linalg.solve(here.H, -here.V.reshape(len(here.V), 12))
    flux = np.zeros_like(f)
    flux[: len(skins[0].vertices), :6] = skins[0].twist_fluxes
    flux[len(skins[0].vertices) :, 6:] = skins[1].twist_fluxes
    return f, flux


def spheres_in_line(distance):
    """Added mass of two unit spheres that move along their line: of one, and between both.

    Images of an axial doublet mu at a distance D from a sphere's centre: -mu / D^3, at 1 / D from
    that centre. The added mass is 4 pi times all doublets in a sphere (for unit velocity), less
    its volume on the moving one. Source: Lamb 1932, ch. VI.
    """
    doublets, mu, place, which = [0.5, 0.0], 0.5, 0.0, 0
    for _ in range(200):
        which = 1 - which
        gap = abs(place - which * distance)
        mu, place = -mu / gap**3, which * distance + (1 / gap if which == 0 else -1 / gap)
        doublets[which] += mu
    return 4 * math.pi * doublets[0] - 4 / 3 * math.pi, 4 * math.pi * doublets[1]


def test_lambs_integrals_give_the_sphere_and_the_thin_disc():
    """Half the displaced mass; 8/3 rho a^3 for a disc of radius a (Lamb, ch. V)."""
    assert ellipsoid_added_mass((1, 1, 1)) == pytest.approx(
        [2 * math.pi / 3] * 3 + [0] * 3, rel=1e-12
    )
    assert ellipsoid_added_mass((1, 1, 1e-6))[2] == pytest.approx(8 / 3, rel=1e-5)
    assert ellipsoid_added_mass((1, 1, 1e-6))[3] == pytest.approx(16 / 45, rel=1e-5)


def test_a_sphere_drags_half_its_displaced_mass_along():
    """Second order in h: the error at 98 vertices is 0.3 %, and rotation stirs nothing."""
    A = added_mass_alone((1, 1, 1), 98)
    assert np.diag(A)[:3] == pytest.approx(2 * math.pi / 3, rel=3e-3)
    assert np.abs(A[3:, 3:]).max() < 1e-3
    assert np.abs(A[:3, 3:]).max() < 1e-3


def test_an_ellipsoids_added_mass_converges_to_lambs_with_the_second_order_and_is_close():
    """At least C h^2 = C / count (measured: h^2.8 from 90 to 1410); at 354 below 0.15 %."""
    exact = ellipsoid_added_mass(AXES)
    counts = [90, 178, 354]
    errors = np.array([np.abs(np.diag(added_mass_alone(AXES, n)) / exact - 1) for n in counts])
    assert errors[-1].max() < 1.5e-3
    slope = np.polyfit(np.log(counts), np.log(np.linalg.norm(errors, axis=1)), 1)[0]
    assert -2 < slope < -1


def test_symmetric_meshes_keep_the_coupling_that_symmetry_forbids_at_rounding():
    """The mirror planes y = 0 and z = 0 leave only (x), (y, rz) and (z, ry) and (rx) coupled."""
    A = added_mass_alone(AXES, 97)
    allowed = np.eye(6, dtype=bool)
    allowed[[1, 5, 2, 4], [5, 1, 4, 2]] = True
    assert np.abs(A[~allowed]).max() < 1e-13


def test_two_spheres_agree_with_the_series_of_images():
    """Gap 0.3 radii; at least second order (measured: h^3 from 50 to 770), 0.7 % at 194."""
    exact = np.array(spheres_in_line(2.3))
    counts, errors = [50, 98, 194], []
    for n in counts:
        f, flux = potentials_of_two([ellipsoid_surface((1, 1, 1), n)] * 2, [2.3, 0, 0])
        A = -f.T @ flux
        errors.append(np.abs(np.array([A[0, 0], (A[0, 6] + A[6, 0]) / 2]) / exact - 1))
    assert max(errors[-1]) < 8e-3
    slope = np.polyfit(np.log(counts), np.log(np.linalg.norm(errors, axis=1)), 1)[0]
    assert -2 < slope < -1


def test_far_apart_two_spheres_feel_each_other_like_a_wall_feels_an_image():
    """Moving together across their line as beside a wall: 1/2 (1 + 3/16 (a/h)^3) (Lamb, ch. VI)."""
    h = 4.0
    f, flux = potentials_of_two([ellipsoid_surface((1, 1, 1), 194)] * 2, [2 * h, 0, 0])
    A = -f.T @ flux
    alone = added_mass_alone((1, 1, 1), 194)
    along_the_wall = (A[1, 1] + A[1, 7]) / alone[1, 1] - 1
    towards_the_wall = (A[0, 0] - A[0, 6]) / alone[0, 0] - 1
    assert along_the_wall == pytest.approx(3 / 16 / h**3, rel=0.03)
    assert towards_the_wall == pytest.approx(3 / 8 / h**3, rel=0.03)


def pressure_forces(skins, offset, velocity):
    """Force on each of two bodies in steady flow: -rho int (U . grad phi - |grad phi|^2 / 2) n."""
    f, _ = potentials_of_two(skins, offset)
    phi = f[:, [0, 1, 2, 6, 7, 8]] @ np.tile(velocity, 2)
    forces, start = [], 0
    for skin in skins:
        tables = skin.tables
        on_corners = phi[start + skin.triangles]
        slopes = -tables.conormals * tables.slopes[..., None]  # gradients of the hat functions
        gradient = np.einsum("tk,tki->ti", on_corners, slopes)
        gradient += (tables.normals @ velocity)[:, None] * tables.normals
        pressure = gradient @ velocity - (gradient**2).sum(axis=1) / 2
        forces.append(-np.einsum("t,ti,t->i", pressure, tables.normals, tables.double_areas / 2))
        start += len(skin.vertices)
    return np.array(forces)


def test_no_net_force_at_steady_speed_on_two_unequal_bodies():
    """d'Alembert: the forces by Bernoulli's pressure cancel, though each body feels one.

    The sum falls with h^2 or faster (measured: 1.9, 0.75, 0.20 and, at 706, 0.10 % of one force).
    """
    velocity, offset = np.array([0.8, 0.5, 0.3]), [1.6, 0.4, 0.2]
    ratios = []
    for n in (90, 178, 354):
        skins = [ellipsoid_surface(axes, n) for axes in (AXES, (0.4, 0.6, 0.5))]
        forces = pressure_forces(skins, offset, velocity)
        ratios.append(np.linalg.norm(forces.sum(axis=0)) / np.linalg.norm(forces[0]))
    assert ratios[0] > 2 * ratios[1] > 4 * ratios[2]
    assert ratios[-1] < 3e-3


def test_added_mass_is_positive_definite_and_nearly_symmetric_before_it_is_made_so():
    """Asymmetry is a discretisation error: below 1e-3 of the geometric mean of the diagonal."""
    flow = Flow.from_swimmer(fish(), 90)
    angles = np.array([0.5, -0.9, 0.7])
    f = flow.solve(angles).f
    raw, A = raw_added_mass(flow, angles, f), added_mass_of(flow, angles, f)
    scale = np.sqrt(np.outer(np.diag(A), np.diag(A)))
    assert np.abs((raw - raw.T) / scale).max() < 1e-3
    assert (A.T == A).all()
    assert np.linalg.eigvalsh(A / scale).min() > 1e-4


def test_far_apart_links_have_the_added_mass_they_have_alone():
    """Interaction falls with the third power of the distance: 1e-3 at ten lengths."""
    links = (Link((0.1, 0.03, 0.05)), Link((0.1, 0.03, 0.05)))
    swimmer = Swimmer(links, (Hinge(0, (-1.0, 0, 0), (1.0, 0, 0)),))
    flow = Flow.from_swimmer(swimmer, 90)
    A = added_mass_of(flow, [0.0], flow.solve([0.0]).f)
    alone = added_mass_alone(links[0].semi_axes, 90) * swimmer.fluid_density
    assert A[1, 1] == pytest.approx(2 * alone[1, 1], rel=1e-3)


def test_a_bend_and_its_mirror_image_have_mirrored_added_mass():
    """y -> -y: signs of vectors, axial vectors and hinge rates; to rounding, by the meshes."""
    flow = Flow.from_swimmer(fish(3), 60)
    A, B = (added_mass_of(flow, q, flow.solve(q).f) for q in ([0.5, 0.8], [-0.5, -0.8]))
    signs = np.array([1, -1, 1, -1, 1, -1, -1, -1])
    assert A == pytest.approx(signs[:, None] * B * signs, abs=1e-12 * np.abs(A).max())


def test_the_papers_swimmer_has_1412_vertices():
    assert Flow.from_swimmer(fish()).vertex_count == 1412
