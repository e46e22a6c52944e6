"""Engines that compute Data from Data: against what the words say, and small closed forms."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.rotation import rotation_zyx
from sofa_softctl.runtime.simulation import simulation

POINTS = np.random.default_rng(3).normal(size=(5, 3))
FRAMES = [[1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8], [0.0, 0.0, 1.0, 0.5, 0.5, 0.5, 0.5]]
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0]]
CUBE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]


@pytest.fixture
def engine(root):
    """Makes an engine, ready to be read."""

    def make(kind, **values):
        made = root.addObject(kind, **values)
        simulation.init(root)
        return made

    return make


TURN = {"scale": [2, 3, 0.5], "rotation": [10, 20, 30], "translation": [1, 2, 3]}


def test_a_transform_scales_turns_and_shifts(engine):
    """In this order; the quaternion (0, 0, 1, 0) turns half round z after the angles."""
    found = engine("TransformEngine", input_position=POINTS, quaternion=[0, 0, 1, 0], **TURN)
    turned = (POINTS * TURN["scale"]) @ rotation_zyx(np.array(TURN["rotation"])).T
    assert found.output_position.array() == pytest.approx(turned * [-1, -1, 1] + [1, 2, 3])


@pytest.mark.parametrize(("template", "values"), [("Vec3", POINTS), ("Rigid3", FRAMES)])
def test_the_inverse_undoes_a_transform(template, values, engine, root):
    given = {"template": template, "quaternion": [0, 0.28, 0, 0.96], **TURN}
    there = root.addObject("TransformEngine", name="there", input_position=values, **given)
    back = engine("TransformEngine", input_position="@there.output_position", inverse=True, **given)
    assert not np.allclose(there.output_position.array(), values)
    assert back.output_position.array() == pytest.approx(np.asarray(values))


def test_frames_turn_as_a_whole(engine):
    """A quarter turn about z takes the frame's first direction along, not its place alone."""
    found = engine(
        "TransformEngine", template="Rigid3", input_position=FRAMES[:1], rotation=[0, 0, 90]
    )
    half = np.sqrt(0.5)
    turned = [-2.0, 1.0, 3.0, 0, 0, 0.6 * half + 0.8 * half, 0.8 * half - 0.6 * half]
    assert found.output_position.array()[0] == pytest.approx(np.array(turned))


def test_outputs_follow_inputs_when_they_are_read(engine):
    found = engine("TransformEngine", input_position=POINTS, translation=[1, 0, 0])
    found.translation.value = [0, 0, 7]
    assert found.output_position.array() == pytest.approx(POINTS + [0, 0, 7])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("projectOnPlane", POINTS * [1, 1, 0] + [0, 0, 2]),
        ("translation", POINTS + [4, 5, 6]),
        ("scale", [1, 1, 2] + (POINTS - [1, 1, 2]) * [2, 2, 3]),
        ("scaleTranslation", POINTS * [2, 2, 3] + [4, 5, 6]),
        ("rotation", POINTS[:, [1, 0, 2]] * [-1, 1, 1]),
        ("scaleRotationTranslation", (POINTS * [2, 2, 3])[:, [1, 0, 2]] * [-1, 1, 1] + [4, 5, 6]),
        ("affine", POINTS[:, ::-1] / 2.0),
    ],
)
def test_transform_position_has_methods(method, expected, engine):
    """1e-12: the angle of 90 degrees has a cosine of 6e-17."""
    found = engine(
        "TransformPosition", input_position=POINTS, method=method, origin=[1, 1, 2],
        normal=[0, 0, 9], translation=[4, 5, 6], scale=[2, 2, 3], rotation=[0, 0, 90],
        fixedIndices=[3], matrix=[[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2]],
    )  # fmt: skip
    expected = np.array(expected)
    expected[3] = POINTS[3]
    assert found.output_position.array() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.tfm", "#Insight\nParameters: 0 -1 0 1 0 0 0 0 2 6 5 4\nFixedParameters: 0 0 0\n"),
        ("m.trm", "4 5 6\n0 -1 0\n1 0 0\n0 0 2\n"),
        ("m.xfm", "0 -1 0 4\n1 0 0 5\n\n0 0 2 6\n0 0 0 1\n"),
    ],
)
def test_a_transformation_can_come_from_a_file(name, text, engine, tmp_path):
    """SOFA reads the shift of a .tfm from its end: z, y and x."""
    (tmp_path / name).write_text(text)
    found = engine(
        "TransformPosition", input_position=POINTS, method="fromFile", filename=str(tmp_path / name)
    )
    expected = POINTS[:, [1, 0, 2]] * [-1, 1, 2] + [4, 5, 6]
    assert found.output_position.array() == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.trm", "4 5\n", r"cannot read .*m\.trm: expected lines of 3 numbers, got '4 5'"),
        ("m.tfm", "#Insight\n", r"m\.tfm: expected lines of 12 numbers, got ''"),
        ("m.xfm", "MNI Transform File\n", r"lines of 4 numbers, got 'MNI Transform File'"),
        ("m.txt", "1 0 nan 0\n", r"lines of 4 numbers, got '1 0 nan 0'"),
        ("m.png", "", r"m\.png: expected a file \.tfm, \.trm, \.txt or \.xfm"),
        ("", None, "needs the 'filename' of the matrix"),
        ("none.trm", None, "has filename='.*none.trm': No such file"),
    ],
)
def test_a_file_without_a_transformation_is_told(name, text, message, engine, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    file = str(tmp_path / name) if name else ""
    with pytest.raises(SceneError, match=message):
        engine("TransformPosition", input_position=POINTS, method="fromFile", filename=file)


def test_points_that_stay_must_exist(engine):
    values = {"input_position": POINTS, "method": "scale", "fixedIndices": [99]}
    with pytest.raises(SceneError, match=r"has 'fixedIndices' from 99 to 99, but there are"):
        engine("TransformPosition", **values).output_position.array()


def test_methods_that_depend_on_the_platform_are_refused(engine):
    with pytest.raises(SceneError, match="has no method 'random'; compute the positions"):
        engine("TransformPosition", method="random", input_position=POINTS)


def test_the_volume_of_a_surface_is_what_it_holds(engine):
    """A box of 2 x 1 x 3; its winding does not matter."""
    quads = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6]]
    found = engine(
        "VolumeFromTriangles", positions=np.array(CUBE) * [2, 1, 3], quads=quads,
        triangles=[[0, 4, 7], [0, 7, 3]],
    )  # fmt: skip
    assert found.volume.value == pytest.approx(6.0)
    found.quads.value = [quad[::-1] for quad in quads]
    found.triangles.value = [[7, 4, 0], [3, 7, 0]]
    assert found.volume.value == pytest.approx(6.0)


@pytest.mark.parametrize(("update", "expected"), [(False, 1.0 / 6.0), (True, 2.0 / 6.0)])
def test_the_volume_follows_the_state_where_it_is_told(update, expected, engine, root):
    root.addObject("MeshTopology", position=np.eye(4, 3, k=-1).tolist(), tetrahedra=[[0, 1, 2, 3]])
    dofs = root.addObject("MechanicalObject")
    found = engine("VolumeFromTetrahedrons", update=update)
    assert found.volume.value == pytest.approx(1.0 / 6.0)
    with dofs.position.writeable() as x:
        x[3] = [0, 0, 2]
    assert found.volume.value == pytest.approx(expected)


def test_a_volume_of_vertices_that_are_not_there_is_an_error(engine):
    with pytest.raises(SceneError, match="has 'triangles' of vertex 9, but 6 positions"):
        engine("VolumeFromTriangles", positions=SQUARE, triangles=[[0, 1, 9]])


def test_values_are_chosen_by_index(engine):
    found = engine("ValuesFromIndices", template="Vec3d", indices=[4, 0, 4], **{"in": POINTS})
    assert found.out.array() == pytest.approx(POINTS[[4, 0, 4]])
    numbers = engine("ValuesFromIndices", name="b", indices=[2, 0], input=[5, 6, 7])
    assert numbers.findData("output").array().ravel().tolist() == [7, 5]


def test_an_index_too_far_is_complained_of(engine):
    found = engine("ValuesFromIndices", indices=[2], **{"in": [5.0]})
    with pytest.raises(SceneError, match="has index 2 in 'indices', but 1 values"):
        found.out.array()


def test_indices_are_found_by_value(engine):
    found = engine("IndicesFromValues", values=[7, 5], **{"global": [5, 6, 7, 5]})
    assert found.indices.array().tolist() == [2, 0]
    found.recursiveSearch.value = True
    assert found.indices.array().tolist() == [2, 0, 3]


def test_points_come_once_each(engine):
    found = engine(
        "PointsFromIndices", position=[[0, 0, 0], [1, 0, 0], [0, 0, 0]], indices=[1, 0, 2]
    )
    assert found.indices_position.array().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_a_list_of_values_grows_where_an_index_is_beyond_it(engine):
    found = engine("IndexValueMapper", inputValues=[3, 4], indices=[1, 4], value=9)
    assert found.outputValues.array().tolist() == [3, 9, 1, 1, 9]


def test_numbers_become_values(engine):
    found = engine("Indices2ValuesMapper", inputValues=[1, 2, 7], indices=[2, 1], values=[20, 10])
    assert found.outputValues.array().tolist() == [10, 20, 1]


def test_regions_have_values(engine):
    """Later regions overwrite earlier ones."""
    found = engine("ROIValueMapper", indices1=[0, 3], value1=5, indices2=[3], value2=6)
    assert found.outputValues.array().tolist() == [5, 0, 0, 6]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("union", [1, 2, 3, 4]),
        ("intersection", [3]),
        ("difference", [1]),
        ("symmetric_difference", [1, 2, 4]),
    ],
)
def test_sets_are_merged(op, expected, engine):
    assert engine("MergeSets", in1=[3, 1], in2=[4, 3, 2], op=op).out.array().tolist() == expected


def test_an_operation_on_sets_that_is_none_is_an_error(engine):
    found = engine("MergeSets", in1=[1], op="add")
    with pytest.raises(SceneError, match="takes one of 'union', .* got 'add'"):
        found.out.array()


def test_points_are_merged(engine):
    found = engine("MergePoints", position1=POINTS[:2], position2=POINTS[2:])
    assert found.points.array() == pytest.approx(POINTS)
    assert found.indices2.array().tolist() == [2, 3, 4]


def test_points_are_not_merged_without_an_update(engine):
    """As in SOFA, where noUpdate holds from the start."""
    found = engine("MergePoints", position1=POINTS[:2], position2=POINTS[2:], noUpdate=True)
    assert len(found.points.value) == len(found.indices1.value) == 0


def test_points_may_take_the_place_of_others(engine):
    found = engine("MergePoints", position1=POINTS[:3], position2=POINTS[3:], mappingX2=[2, 0])
    assert found.points.array() == pytest.approx(POINTS[[4, 1, 3]])
    assert found.indices1.array().tolist() == [1] and found.indices2.array().tolist() == [0, 2]


def test_vectors_are_merged_by_number(engine):
    found = engine(
        "MergeVectors", nbInputs=2, template="Vec3d", input2=POINTS[1:], input1=POINTS[:1]
    )
    assert found.output.array() == pytest.approx(POINTS)


def test_meshes_are_merged_with_new_numbers(engine):
    found = engine(
        "MergeMeshes", nbMeshes=2, position1=POINTS[:3], position2=POINTS[3:],
        triangles1=[[0, 1, 2]], triangles2=[[1, 0, 1]], edges2=[[0, 1]],
    )  # fmt: skip
    assert found.position.array() == pytest.approx(POINTS)
    assert found.triangles.array().tolist() == [[0, 1, 2], [4, 3, 4]]
    assert found.edges.array().tolist() == [[3, 4]]
    assert found.npoints.value == 5


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("+", [6, 8]),
        ("-", [-4, -4]),
        ("*", [5, 12]),
        ("/", [0.2, 2 / 6]),
        ("<", [1, 2]),
        (">", [5, 6]),
    ],
)
def test_numbers_are_computed_with(op, expected, engine):
    found = engine("MathOp", op=op, input1=[1, 2], input2=[5, 6])
    assert found.output.array().ravel() == pytest.approx(np.array(expected))


def test_differences_sums_norms_and_averages(engine, root):
    difference = engine("DifferenceEngine", input=POINTS, substractor=POINTS[::-1])
    assert difference.output.array() == pytest.approx(POINTS - POINTS[::-1])
    assert engine("SumEngine", name="s", input=POINTS).output.array() == pytest.approx(
        POINTS.sum(axis=0)
    )
    norms = engine("NormEngine", name="n", input=[[3, -4, 0]], normType=1)
    assert norms.output.array().tolist() == [7]
    norms.normType.value = -1
    assert norms.output.array().tolist() == [4]
    root.addObject("MechanicalObject", position=POINTS)
    average = engine("AverageCoord", name="a", indices=[0, 2])
    assert average.average.array() == pytest.approx((POINTS[0] + POINTS[2]) / 2)
    with pytest.raises(SceneError, match="takes a 'vecId' from 1 to 4, got 5"):
        engine("AverageCoord", name="b", vecId=5)


def test_a_grid_of_cells_fills_its_box(engine):
    """Tetrahedra of one winding, of the box's volume."""
    found = engine("GenerateGrid", min=[0, 0, 1], max=[2, 3, 5], resolution=[2, 1, 3])
    x = found.position.array()[found.tetrahedra.array()]
    volumes = np.linalg.det(x[:, 1:] - x[:, :1]) / 6.0
    assert len(found.hexahedra.array()) == 6 and len(volumes) == 36
    assert abs(volumes.sum()) == pytest.approx(24.0) and np.ptp(volumes) == pytest.approx(0.0)


def test_a_grid_may_be_flat(engine):
    found = engine("GenerateGrid", max=[2, 1, 0], resolution=[2, 1, 0])
    assert found.quads.array().tolist() == [[0, 1, 4, 3], [1, 2, 5, 4]]
    assert found.triangles.array().tolist() == [[0, 1, 3], [3, 1, 4], [1, 2, 4], [4, 2, 5]]


def test_normals_may_weigh_faces_by_their_angle(engine):
    """At a corner of a cube whose top is cut in two: only by angle does the corner point out."""
    given = {"position": np.array(CUBE)[[6, 5, 7, 2, 4]], "quads": [], "useAngles": True}
    faces = [[0, 2, 1], [2, 4, 1], [0, 3, 2], [0, 1, 3]]
    found = engine("NormalsFromPoints", triangles=faces, **given).normals.array()[0]
    assert found == pytest.approx(np.ones(3) / np.sqrt(3))
    inward = engine("NormalsFromPoints", name="b", triangles=faces, invertNormals=True, **given)
    assert inward.normals.array()[0] == pytest.approx(-found)


def test_a_part_of_a_mesh_has_new_numbers(engine):
    found = engine(
        "MeshSubsetEngine", inputPosition=SQUARE, inputQuads=[[0, 1, 2, 3], [1, 4, 5, 2]],
        inputEdges=[[0, 1], [4, 5]], indices=[5, 4, 2, 1],
    )  # fmt: skip
    assert found.quads.array().tolist() == [[3, 1, 0, 2]]
    assert found.edges.array().tolist() == [[1, 0]]
    assert found.position.array()[0].tolist() == [2, 1, 0]
