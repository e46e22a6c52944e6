import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.testing import check_force_field

SQUARE = np.array([[0.0, 0, 0], [2, 0, 0], [2, 3, 0], [0, 3, 0]])
TRIANGLES = [[0, 1, 2], [0, 2, 3]]


def test_a_pressure_vector_times_the_area_is_shared_by_the_corners(body, force_of):
    field = body(
        "TrianglePressureForceField", SQUARE, mesh={"triangles": TRIANGLES}, pressure=[1, 2, 3],
        triangleList=[1],
    )  # fmt: skip
    expected = np.array([[1, 2, 3], [0, 0, 0], [1, 2, 3], [1, 2, 3]])
    assert force_of(field) == pytest.approx(expected)


def test_the_area_is_that_at_rest_and_pressure_and_list_may_change(body, force_of):
    field = body(
        "TrianglePressureForceField", SQUARE, mesh={"triangles": TRIANGLES}, pressure=[0, 0, 1],
        triangleList=[0],
    )  # fmt: skip
    field.state.position.value = 2 * SQUARE
    assert force_of(field)[:, 2] == pytest.approx([1, 1, 1, 0])
    field.pressure.value = [0, 0, 2]
    field.triangleList.value = [0, 1]
    assert force_of(field)[:, 2] == pytest.approx([4, 2, 4, 2])


def test_a_stress_acts_on_the_area_as_it_is(body, force_of):
    field = body(
        "TrianglePressureForceField", SQUARE, mesh={"triangles": TRIANGLES}, triangleList=[0, 1],
        cauchyStress=[1, 2, 4, 2, 3, 5, 4, 5, 6], useConstantForce=False,
    )  # fmt: skip
    assert force_of(field).sum(axis=0) == pytest.approx([6 * 4, 6 * 5, 6 * 6])
    field.state.position.value = 2 * SQUARE
    assert force_of(field).sum(axis=0) == pytest.approx([24 * 4, 24 * 5, 24 * 6])


@pytest.mark.parametrize(
    "values", [{"quadList": [0]}, {"normal": [1, 0, 0], "dmin": -1, "dmax": 2.5}]
)
def test_quadrilaterals_are_chosen_by_number_or_by_place(values, body, force_of):
    field = body(
        "QuadPressureForceField", SQUARE, mesh={"quads": [[0, 1, 2, 3]]}, pressure=[0, 0, 2],
        **values,
    )  # fmt: skip
    assert force_of(field)[:, 2] == pytest.approx([3, 3, 3, 3])


def test_edges_have_a_pressure_by_their_length(body, force_of):
    mesh = {"edges": [[0, 1], [1, 2]]}
    field = body("EdgePressureForceField", SQUARE, mesh=mesh, pressure=[0, 0, 2], edgeIndices=[1])
    assert force_of(field)[:, 2] == pytest.approx([0, 3, 3, 0])


def test_edges_have_a_pressure_along_their_normal(body, force_of):
    """binormal x edge: z x y = -x; the positions of the force are those of the last call, and its
    length is 2, that of the topology's first edge: SOFA's."""
    mesh = {"edges": [[0, 1], [1, 2]]}
    field = body(
        "EdgePressureForceField", SQUARE, mesh=mesh, p_intensity=[2], binormal=[0, 0, 1],
        edges=[[1, 2]],
    )  # fmt: skip
    assert force_of(field) == pytest.approx(
        np.array([[0, 0, 0], [-2, 0, 0], [-2, 0, 0], [0, 0, 0]])
    )
    field.state.position.value = SQUARE[:, [1, 0, 2]]
    assert force_of(field)[1] == pytest.approx([-2, 0, 0])
    assert force_of(field)[1] == pytest.approx([0, 2, 0])


SURFACE = "SurfacePressureForceField"


def test_a_pressure_in_a_closed_surface_neither_moves_nor_turns_it(body, force_of, octahedron):
    points, triangles = octahedron
    force = force_of(body(SURFACE, points, mesh={"triangles": triangles.tolist()}, pressure=3.0))
    assert force.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-14)
    assert np.cross(points, force).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-14)


def test_its_work_is_pressure_times_volume(body, force_of, octahedron):
    """Radial growth by a factor e: force . x = 3 p V."""
    points, triangles = octahedron
    force = force_of(body(SURFACE, points, mesh={"triangles": triangles.tolist()}, pressure=3.0))
    a, b, c = (points[triangles[:, i]] for i in range(3))
    volume = (np.cross(a, b) * c).sum() / 6.0
    assert (force * points).sum() == pytest.approx(9.0 * volume)


def test_its_stiffness_is_minus_the_derivative(body, octahedron):
    points, triangles = octahedron
    check_force_field(body(SURFACE, points, mesh={"triangles": triangles.tolist()}, pressure=3.0))


def test_on_an_open_surface_the_matrix_is_the_symmetric_part(body, force_of, dense, product):
    field = body(SURFACE, SQUARE, mesh={"triangles": TRIANGLES}, pressure=3.0)
    force_of(field)
    K = np.array([product(field, e.reshape(4, 3)).ravel() for e in np.eye(12)]).T
    assert abs(K - K.T).max() > 1.0
    assert dense(field) == pytest.approx((K + K.T) / 2)


def test_quadrilaterals_are_two_triangles(body, force_of):
    field = body(SURFACE, SQUARE, mesh={"quads": [[0, 1, 2, 3]]}, pressure=3.0)
    assert force_of(field)[:, 2] == pytest.approx([6, 3, 6, 3])


def test_a_box_chooses_triangles(body, force_of):
    points = np.concatenate([SQUARE, SQUARE + [0, 0, 5]])
    triangles = [*TRIANGLES, *(np.array(TRIANGLES) + 4).tolist()]
    field = body(
        SURFACE, points, mesh={"triangles": triangles}, pressure=1.0, min=[-1, -1, 4],
        max=[9, 9, 6],
    )  # fmt: skip
    assert force_of(field)[:, 2].tolist() == [0, 0, 0, 0, 2, 1, 2, 1]


def test_a_pulse_runs_up_and_down(body, root, force_of):
    """dt is 0.01: by 1 a step, up to 3 and down to 1."""
    field = body(
        SURFACE, SQUARE, mesh={"triangles": TRIANGLES}, pressure=3.0, pulseMode=True,
        pressureSpeed=100.0, pressureLowerBound=1.0,
    )  # fmt: skip
    found = [force_of(field)[1, 2] for _ in range(8)]
    assert found == pytest.approx([1, 2, 3, 2, 1, 2, 3, 2])


def test_a_conserved_volume_raises_the_pressure(body, force_of, octahedron):
    points, triangles = octahedron
    field = body(
        SURFACE, points, mesh={"triangles": triangles.tolist()}, pressure=3.0,
        volumeConservationMode=True,
    )  # fmt: skip
    before = force_of(field)
    field.state.position.value = points * 0.5
    assert force_of(field) == pytest.approx(before * 8 / 4)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("TrianglePressureForceField", {"triangleList": [2]}, "number 2 .* there are 2 triangles"),
        (SURFACE, {"triangleIndices": [2]}, "number 2 in 'triangleIndices'"),
        ("EdgePressureForceField", {"edges": [[1, 3]]}, r"names the edge \[1, 3\], which"),
        (
            "EdgePressureForceField",
            {"p_intensity": [1], "edgeIndices": [0]},
            "'p_intensity' but no 'binormal'",
        ),
        ("EdgePressureForceField", {"pressure": [1, 0, 0]}, "names none of the edges"),
        ("TrianglePressureForceField", {}, "names none of the triangles .* in 'triangleList'"),
    ],
)
def test_elements_that_do_not_exist_are_errors(kind, values, message, body):
    with pytest.raises(SceneError, match=message):
        body(kind, SQUARE, mesh={"triangles": TRIANGLES}, **values)


def test_a_pressure_needs_a_topology(body):
    with pytest.raises(SceneError, match="needs a topology"):
        body(SURFACE, SQUARE, pressure=1.0)


def test_edges_need_triangles_or_names(body, force_of, tolerant):
    """A range alone chooses edges of a topology with triangles, as in SOFA."""
    mesh = {"edges": [[0, 1], [1, 2]]}
    chosen = {"pressure": [0, 0, 2], "normal": [0, 0, 1], "dmin": -1, "dmax": 1}
    with complaints() as said:
        field = body("EdgePressureForceField", SQUARE, mesh=mesh, **chosen)
        assert not force_of(field).any()
    assert "no 'edges', and its topology no triangles" in str(said[0])
