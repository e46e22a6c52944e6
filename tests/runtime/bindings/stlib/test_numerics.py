"""splib3.numerics: vectors, quaternions, matrices, transforms."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

AXES = [
    kind + "".join(axes)
    for kind in "sr"
    for axes in itertools.product("xyz", repeat=3)
    if axes[0] != axes[1] != axes[2]
]


@pytest.fixture
def numerics():
    import splib3.numerics

    return splib3.numerics


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def scipy_axes(axes):
    """scipy writes axes that turn with the body in capitals."""
    return axes[1:].upper() if axes[0] == "r" else axes[1:]


def test_there_are_24_sequences_of_axes(numerics):
    assert sorted(AXES) == sorted(numerics.AXES_TO_TUPLE)
    assert len(numerics.TUPLE_TO_AXES) == 24


@pytest.mark.parametrize("axes", AXES)
def test_euler_angles_turn_as_scipys(numerics, rng, axes):
    """To rounding, a few 1e-16; either sign is the same rotation."""
    angles = rng.uniform(-3.0, 3.0, 3)
    q = numerics.Quat.createFromEuler(angles, axes)
    expected = Rotation.from_euler(scipy_axes(axes), angles)
    assert q.getMatrix() == pytest.approx(expected.as_matrix(), abs=1e-14)
    back = numerics.Quat.createFromEuler(q.getEulerAngles(axes), axes)
    assert back.getMatrix() == pytest.approx(q.getMatrix(), abs=1e-13)
    assert numerics.Quat.createFromEuler(angles, numerics.AXES_TO_TUPLE[axes]) == q


@pytest.mark.parametrize("axes", ["sxyz", "rzyx", "szxz"])
def test_angles_are_found_where_two_axes_coincide(numerics, axes):
    middle = 0.0 if axes == "szxz" else math.pi / 2.0
    q = numerics.Quat.createFromEuler([0.3, middle, 0.4], axes)
    back = numerics.Quat.createFromEuler(q.getEulerAngles(axes), axes)
    assert back.getMatrix() == pytest.approx(q.getMatrix(), abs=1e-7)


def test_degrees_and_single_axes(numerics):
    Quat, half = numerics.Quat, math.sqrt(0.5)
    turned = Quat.createFromEuler([90.0, 0.0, 0.0], inDegree=True)
    assert turned == pytest.approx([half, 0.0, 0.0, half])
    assert Quat.createFromAxisAngle([1.0, 0.0, 0.0], math.pi / 2.0) == pytest.approx(
        [half, 0.0, 0.0, half]
    )
    with pytest.raises(KeyError, match="no axes 'sxxy'; there are: sxyz"):
        Quat.createFromEuler([0.0, 0.0, 0.0], "sxxy")


def test_quaternions_multiply_as_scipys(numerics, rng):
    for a, b in rng.normal(size=(5, 2, 4)):
        p, q = numerics.Quat(*a).normalize(), numerics.Quat(list(b)).normalize()
        expected = (Rotation.from_quat(a) * Rotation.from_quat(b)).as_matrix()
        assert numerics.Quat.product(p, q).getMatrix() == pytest.approx(expected, abs=1e-14)
        v = rng.normal(size=3)
        assert p.rotate(v) == pytest.approx(Rotation.from_quat(a).apply(v), abs=1e-14)
        assert numerics.Vec3(v).rotateFromQuat(p) == pytest.approx(p.rotate(v), abs=1e-14)
        kept = numerics.Quat(p)
        assert p.rotateFromQuat(q) is p
        assert p == numerics.Quat.product(kept, q)


def test_what_a_quaternion_says(numerics):
    q = numerics.Quat(0.5, 0.5, 0.5, 0.5)
    assert (q.getRe(), q.getIm().tolist(), q.getNorm()) == (0.5, [0.5, 0.5, 0.5], 1.0)
    assert q.getConjugate() == [-0.5, -0.5, -0.5, 0.5]
    assert numerics.Quat(1.0, 1.0, 1.0, 1.0).getInverse() == [-0.25, -0.25, -0.25, 0.25]
    assert numerics.Quat(0.5, 0.0, 0.0, -0.5).flip() == [-0.5, 0.0, 0.0, 0.5]
    axis, angle = q.getAxisAngle()
    assert axis == pytest.approx(np.full(3, math.sqrt(1.0 / 3.0)))
    assert angle == pytest.approx(2.0 * math.pi / 3.0)
    axis, angle = numerics.Quat().getAxisAngle()
    assert (axis.tolist(), angle) == ([0.0, 0.0, 0.0], 0.0)
    assert numerics.Quat().toString() == "0.0 0.0 0.0 1.0"
    assert numerics.Quat() != q
    with pytest.raises(TypeError, match="four numbers or a list of four"):
        numerics.Quat(1.0, 2.0)


def test_the_shortest_turn_between_directions(numerics, rng):
    """From the second to the first, as in the original."""
    a, b = numerics.Vec3(rng.normal(size=3)), numerics.Vec3(rng.normal(size=3))
    turned = numerics.Quat.createFromVectors(a, b).rotate(b)
    assert turned / b.getNorm() == pytest.approx(np.asarray(a) / a.getNorm(), abs=1e-14)


def test_vectors(numerics):
    Vec3 = numerics.Vec3
    assert Vec3() == [0.0, 0.0, 0.0] and Vec3(2) == [2, 2, 2] and Vec3([1, 2, 3]) == Vec3(1, 2, 3)
    assert Vec3(1, 2, 2).getNorm() == 3.0
    assert Vec3(1, 2, 2).normalize() == [1 / 3, 2 / 3, 2 / 3]
    assert Vec3(1, 2, 3).translate(1.0).translate([1, 0, 0]).translate(0, 1, 0) == [3, 4, 4]
    assert Vec3(1, 2, 3).scale(2.0).scale([1, 2, 1]).scale(1, 1, 2) == [2, 8, 12]
    assert Vec3.dot([1, 2, 3], [4, 5, 6]) == 32
    assert Vec3.cross([1, 1, 1], [1, 2, 3]) == [1, -2, 1]
    assert Vec3(1, 2, 3).toString() == "1.0 2.0 3.0" and Vec3(1, 2, 3).toList() == [1, 2, 3]
    assert Vec3(1, 1, 1).rotateFromEuler([math.pi / 2, 0, 0]) == pytest.approx([1, -1, 1])
    assert Vec3(1, 1, 1).rotateFromAxisAngle([1, 0, 0], math.pi / 2) == pytest.approx([1, -1, 1])
    assert Vec3(1) + Vec3(1) != Vec3(1)
    with pytest.raises(TypeError, match=r"scale takes one number, three numbers"):
        Vec3(1).scale(1, 2)


def test_sums_of_lists(numerics):
    assert numerics.vadd([1, 2, 3], [1, 1, 1]) == [2, 3, 4]
    assert numerics.vsub([1, 2, 3], [1, 1, 1]) == [0, 1, 2]
    assert numerics.sadd([1, 2, 3], 1) == [2, 3, 4] and numerics.ssub([1, 2, 3], 1) == [0, 1, 2]
    assert numerics.smul([1, 2, 3], 2) == [2, 4, 6] and numerics.sdiv([2, 4, 6], 2) == [1, 2, 3]


def test_matrices(numerics):
    Matrix = numerics.Matrix
    assert Matrix() == [[0.0]] and Matrix(2, 3) == np.zeros((2, 3))
    m = Matrix(2, 3, [1, 2, 3, 4, 5, 6])
    assert m == [[1, 2, 3], [4, 5, 6]] and m != Matrix(2, 2) and m != 2.0
    assert m.getTranspose() == [[1, 4], [2, 5], [3, 6]]
    assert (m.getSize().tolist(), m.getNbRow(), m.getNbCol()) == ([2, 3], 2, 3)
    assert Matrix.identity(2) == [[1, 0], [0, 1]] and Matrix(1, 2, 3.0) + 1 == [[4, 4]]
    with pytest.raises(TypeError, match="2 by 2 has 4 entries, got 3"):
        Matrix(2, 2, [1, 2, 3])


def test_a_transform_scales_then_turns_then_moves(numerics):
    m = numerics.TRS_to_matrix([1, 2, 3], scale=[2, 1, 1], eulerRotation=[0, 0, 90])
    assert m @ [1, 0, 0, 1] == pytest.approx([1, 4, 3, 1])
    assert numerics.transformPositions([[1.0, 0.0, 0.0]], [1, 2, 3], scale=[2, 1, 1]) == [[3, 2, 3]]
    with pytest.raises(ValueError, match="three numbers x, y and z, got"):
        numerics.transformPosition([1.0, 2.0], m)


def test_a_turned_box_is_three_corners_and_its_depth(numerics):
    box = numerics.getOrientedBoxFromTransform([0, 1, 0], eulerRotation=[0, 90, 0], scale=[2, 4, 6])
    assert box[3] == 4
    assert np.array(box[:3]) == pytest.approx(np.array([[-3, 1, 1], [3, 1, 1], [3, 1, -1]]))


def test_transforms(numerics):
    t = numerics.Transform([1, 2, 3], eulerRotation=[0, 90, 0]).translate([1, 0, 0])
    half = math.sqrt(0.5)
    assert t.toSofaRepr() == pytest.approx([2, 2, 3, 0, half, 0, half])
    assert t.forward == pytest.approx([1, 0, 0, 1])
    assert numerics.to_radians(180.0) == numerics.pi and numerics.to_degrees([numerics.pi]) == [180]


def test_everything_that_scenes_take_by_a_star(numerics):
    names = "sin cos pi sqrt numpy math Vec3 Quat Matrix RigidDof RigidDofZero Transform vadd"
    assert all(hasattr(numerics, name) for name in names.split())


def test_a_body_of_a_mechanical_object(numerics, root):
    rows = [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0], [7.0, 8.0, 9.0, 0.0, 0.0, 0.0, 1.0]]
    dofs = root.addObject("MechanicalObject", template="Rigid3", position=rows)
    body = numerics.RigidDof(dofs)
    body.translate([1.0, 0.0, 0.0])
    body.rotateAround([0.0, 0.0, 1.0], math.pi / 2.0)
    assert body.position == pytest.approx([2.0, 2.0, 3.0])
    assert body.left == pytest.approx([0.0, 1.0, 0.0]) and body.up == pytest.approx(
        [-1.0, 0.0, 0.0]
    )
    assert body.forward == pytest.approx([0.0, 0.0, 1.0])
    body.orientation = [0.0, 0.0, 0.0, 1.0]
    body.position = [4.0, 5.0, 6.0]
    body.showObjectScale = [2.0]
    assert dofs.position.value.tolist() == [[4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 1.0], rows[1]]
    body.setPosition([0.0, 0.0, 0.0], index=1)
    assert body.getPosition(1).tolist() == [0.0, 0.0, 0.0]
    other = numerics.RigidDof(
        root.addChild("b").addObject("MechanicalObject", template="Rigid3", position=rows)
    )
    other.copyFrom(body)
    assert other.position.tolist() == [4.0, 5.0, 6.0]
