"""SofaTypes and Sofa.PyTypes: short vectors, colors."""

import math

import numpy as np
import pytest


@pytest.fixture
def types(Sofa):
    import SofaTypes

    return SofaTypes


def test_coordinates_have_names(types):
    v = types.Vec3d(1.0, 2.0, 3.0)
    v.y = 5.0
    assert (v.x, v.y, v.z, v.xy, v.xyz) == (1.0, 5.0, 3.0, (1.0, 5.0), (1.0, 5.0, 3.0))
    assert not hasattr(v, "w")
    assert types.Vec4i(1, 2, 3, 4).xyzw == (1, 2, 3, 4)
    with pytest.raises(IndexError):
        v[3]


def test_lengths_and_directions(types):
    v = types.Vec3d(3.0, 0.0, 4.0)
    assert (v.norm(), v.norm2(), v.lNorm(1), v.lNorm(0)) == (5.0, 25.0, 7.0, 4.0)
    assert v.normalized() == types.Vec3d(0.6, 0.0, 0.8) and v.norm() == 5.0
    assert v.normalize() and v.norm() == pytest.approx(1.0)
    v.clear()
    assert not v.normalize() and list(v) == [0.0, 0.0, 0.0]


def test_products(types):
    a, b = types.Vec3d(1, 2, 3), types.Vec3d(-2, 0, 1)
    assert a * b == 1.0 and a.dot(b) == 1.0
    assert a.cross(b).dot(a) == a.cross(b).dot(b) == 0.0
    assert list(a * 2) == [2.0, 4.0, 6.0] and list(a / 2) == [0.5, 1.0, 1.5]
    assert types.Vec2d(1, 2).cross(types.Vec2d(3, 4)) == -2.0
    assert not hasattr(types.Vec4d(), "cross")


def test_vectors_are_equal_within_rounding(types):
    third = 1.0 / 3.0
    assert types.Vec2d(third, 0.0) == types.Vec2d(0.3333334, 0.0)
    assert types.Vec2d(third, 0.0) != types.Vec2d(0.33334, 0.0)
    assert types.Vec2d(1, 2) != [1.0]


def test_a_vector_of_splib_is_made_of_a_data(Sofa, root):
    from Sofa.PyTypes import Vec3

    root.gravity = [0.0, 3.0, 4.0]
    for value in (root.gravity, root.gravity.value, root.gravity.array(), [0.0, 3.0, 4.0]):
        assert Vec3(value).getNorm() == 5.0
    assert isinstance(Vec3() + Vec3(1.0), Vec3)
    turned = Vec3(1, 0, 0).rotateFromAxisAngle([0, 0, 1], math.pi / 2)
    assert turned.tolist() == pytest.approx([0, 1, 0], abs=1e-12)
    with pytest.raises(AttributeError, match="three numbers"):
        Vec3(np.zeros(4))


def test_a_color_is_made_of_numbers_or_a_data(Sofa, root):
    color = Sofa.PyTypes.RGBAColor([0.1, 0.2, 0.3, 0.4])
    assert (color.r(), color.g(), color.b(), color.a()) == (0.1, 0.2, 0.3, 0.4)
    assert Sofa.PyTypes.RGBAColor().tolist() == [0, 0, 0, 0]
    root.addObject("MechanicalObject", name="dofs")
    with root.dofs.showColor.writeableArray(Sofa.PyTypes.RGBAColor) as shown:
        shown[1] = 0.25
    assert shown.g() == 0.25 == Sofa.PyTypes.RGBAColor(root.dofs.showColor).g()
    with pytest.raises(ValueError, match="four numbers"):
        Sofa.PyTypes.RGBAColor([0.1, 0.2, 0.3])
    with pytest.raises(TypeError, match="four numbers"):
        Sofa.PyTypes.RGBAColor([0.1, 0.2, "blue", 0.4])
