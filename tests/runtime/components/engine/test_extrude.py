"""ExtrudeQuadsAndGenerateHexas: volumes, places and numbers of layers on quads."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError

SQUARES = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0]]
QUADS = [[0, 1, 4, 3], [1, 2, 5, 4]]
ROOF = [[0, 0, 0], [1, 0, 1], [2, 0, 0], [0, 1, 0], [1, 1, 1], [2, 1, 0]]
"""Two quads at 45 degrees: normals along (-1, 0, 1) and (1, 0, 1), at the ridge (0, 0, 1)."""


@pytest.fixture
def extruded(root):
    def make(vertices=SQUARES, quads=QUADS, **values):
        engine = root.addObject(
            "ExtrudeQuadsAndGenerateHexas", surfaceVertices=vertices, surfaceQuads=quads, **values
        )
        engine.init()
        return engine

    return make


def corner_volumes(engine):
    """Volume of the box that each hexahedron spans at its first corner."""
    x = engine.extrudedVertices.value[engine.extrudedHexas.value]
    return np.linalg.det(x[:, [1, 3, 4]] - x[:, :1])


@pytest.mark.parametrize(("flip", "outer", "sign"), [(0, 3.0, -1), (1, 3.0, 1), (0, -4.0, 1)])
def test_layers_fill_the_thickness(extruded, flip, outer, sign):
    """SOFA's hexahedra have positive volumes against the normals, or flipped along them."""
    engine = extruded(thicknessIn=0.5, thicknessOut=outer, numberOfSlices=7, flipNormals=flip)
    heights = np.unique(engine.extrudedVertices.value[:, 2])
    assert heights == pytest.approx(np.sort(np.linspace(-0.5, outer, 8)))
    assert corner_volumes(engine) == pytest.approx(sign * abs(outer + 0.5) / 7 * np.ones(14))


def test_the_copies_of_a_vertex_follow_each_other(extruded):
    engine = extruded(quads=QUADS[:1], thicknessOut=1.0, numberOfSlices=2)
    assert engine.extrudedVertices.value[3:6].tolist() == [[1, 0, 0], [1, 0, 0.5], [1, 0, 1]]
    assert engine.extrudedVertices.value[6:9].tolist() == [[2, 0, 0]] * 3  # in no quad: no normal
    assert engine.extrudedSurfaceQuads.value.tolist() == [[0, 3, 12, 9]]
    assert engine.extrudedHexas.value.tolist() == [
        [9, 12, 3, 0, 10, 13, 4, 1],
        [10, 13, 4, 1, 11, 14, 5, 2],
    ]
    assert engine.extrudedQuads.value.tolist() == [
        [0, 3, 12, 9], [11, 14, 5, 2], [1, 4, 13, 10], [10, 13, 4, 1],
        [0, 1, 4, 3], [3, 4, 13, 12], [12, 13, 10, 9], [9, 10, 1, 0],
        [1, 2, 5, 4], [4, 5, 14, 13], [13, 14, 11, 10], [10, 11, 2, 1],
    ]  # fmt: skip


def test_vertices_go_along_the_mean_of_the_unit_normals(extruded):
    """After the scale, which the normals do not know."""
    engine = extruded(ROOF, scale=[2, 1, 1], thicknessIn=1.0, thicknessOut=1.0)
    half = np.sqrt(0.5)
    low, high = engine.extrudedVertices.value[0::2], engine.extrudedVertices.value[1::2]
    assert (low + high) / 2 == pytest.approx(np.array(ROOF) * [2, 1, 1])
    ways = [[-half, 0, half], [0, 0, 1], [half, 0, half]] * 2
    assert (high - low) / 2 == pytest.approx(np.array(ways))


def test_another_number_of_layers_counts_with_the_next_surface(extruded):
    """As in SOFA, where it is no input."""
    engine = extruded()
    assert len(engine.extrudedHexas) == 2
    engine.numberOfSlices.value = 3
    assert len(engine.extrudedHexas) == 2
    engine.surfaceQuads.value = QUADS[:1]
    assert len(engine.extrudedHexas) == 3


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"quads": []}, "has no vertices or no quads to extrude"),
        ({"numberOfSlices": 0}, "needs a 'numberOfSlices' of 1 or more, got 0"),
        ({"quads": [[0, 1, 6, 3]]}, "has vertex 6 in 'surfaceQuads', but there are 6 vertices"),
        ({"quads": [[0, 1, -1, 3]]}, "has vertex -1 in 'surfaceQuads', but"),
    ],
)
def test_what_cannot_be_extruded_is_refused(extruded, values, problem):
    with pytest.raises(SceneError, match=problem):
        len(extruded(**values).extrudedHexas)


def test_a_surface_that_is_not_there_gives_nothing(extruded, tolerant):
    assert len(extruded(vertices=[]).extrudedVertices) == 0


def test_more_layers_than_can_be_made_are_an_error(root):
    quad = {"surfaceVertices": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]}
    engine = root.addObject(
        "ExtrudeQuadsAndGenerateHexas", surfaceQuads=[[0, 1, 2, 3]], numberOfSlices=10**9, **quad
    )
    with pytest.raises(SceneError, match="1000000000 layers of 4 vertices: too many to make"):
        _ = engine.extrudedVertices.value
