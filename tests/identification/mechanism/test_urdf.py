"""Mechanisms from URDF files."""

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.urdf import from_urdf

ROBOT = """<robot name="crane">
  <link name="floor"><inertial><mass value="99"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="mount"/>
  <link name="boom"><inertial><origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/>
    <mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial>
  </link>
  <link name="tool"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="hook"><inertial><mass value="1"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="bolted" type="fixed"><parent link="floor"/><child link="mount"/>
    <origin xyz="0 0 1"/></joint>
  <joint name="slew" type="revolute"><parent link="mount"/><child link="boom"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 0 1"/><dynamics damping="0.7" friction="0.3"/>
    <limit effort="1" velocity="1" lower="-1" upper="1"/></joint>
  <joint name="glued" type="fixed"><parent link="boom"/><child link="tool"/>
    <origin xyz="1 0 0" rpy="0 0 0"/></joint>
  <joint name="hoist" type="prismatic"><parent link="tool"/><child link="hook"/>
    <origin xyz="0 0 -0.3"/><axis xyz="0 0 -1"/>
    <limit effort="1" velocity="1" lower="0" upper="1"/></joint>
</robot>"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "crane.urdf"
    path.write_text(ROBOT)
    return path


def test_a_crane_has_the_inertia_and_the_reach_that_its_file_gives(file):
    """About the slew axis: the boom's own, turned by a right angle, its middle, the ends."""
    parts = from_urdf(file)
    assert [joint.name for joint in parts.joints] == ["slew", "hoist"]
    assert [(one.joint, one.damping) for one in parts.dampers] == [("slew", 0.7)]
    assert [(one.joint, one.friction) for one in parts.frictions] == [("slew", 0.3)]
    assert sum(body.mass for body in parts.bodies) == pytest.approx(3.5)  # the floor stays
    crane = Mechanism(parts.joints, parts.bodies)
    q = np.array([0.4, 0.25])
    at = kernels.frames(crane.tree, np.zeros(0), q)
    reach = [0.2 + np.cos(0.4), np.sin(0.4), 1.0 - 0.3 - 0.25]
    np.testing.assert_allclose(at.x[1], reach, atol=1e-12)
    L = kernels.lagrangian(crane.tree, np.zeros(0), q, np.zeros(2), False)
    slew = 0.3 + 2.0 * 0.25 + 0.001 + 0.5 + 1.0
    np.testing.assert_allclose(L.vv, [[slew, 0.0], [0.0, 1.0]], atol=1e-12)
    assert L.q[1] == pytest.approx(9.81)  # the hook falls along its slide


@pytest.mark.parametrize(
    "head", ["", '<?xml version="1.0"?>', '<?xml version="1.0" encoding="utf-8"?>']
)
def test_a_file_in_latin_1_that_does_not_say_so_is_read(tmp_path, head):
    path = tmp_path / "kran.urdf"
    path.write_bytes(f"{head}<!-- für Größe -->{ROBOT.replace('crane', 'Kräne')}".encode("latin-1"))
    assert [joint.name for joint in from_urdf(path).joints] == ["slew", "hoist"]


def test_a_declared_encoding_is_kept(tmp_path):
    path = tmp_path / "kran.urdf"
    head = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    path.write_bytes(f"{head}{ROBOT.replace('slew', 'drehkränz')}".encode("latin-1"))
    assert from_urdf(path).joints[0].name == "drehkränz"


XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


@pytest.mark.parametrize(
    "text",
    [
        f'<robot name="crane" {XACRO}><xacro:property name="l" value="1"/></robot>',
        f'<robot name="crane" {XACRO}><xacro:include filename="$(find arm)/a.xacro"/></robot>',
        ROBOT.replace('value="2"', 'value="${boom_mass}"'),
    ],
)
def test_a_xacro_file_is_named_with_how_to_expand_it(tmp_path, text):
    path = tmp_path / "crane.urdf.xacro"
    path.write_text(text)
    with pytest.raises(IdentificationError, match=r"xacro crane.urdf.xacro > crane.urdf"):
        from_urdf(path)


def test_inertia_tensors_are_turned_with_their_frames(file):
    """The boom's small moment lies along y after its right angle."""
    boom = from_urdf(file).bodies[0]
    np.testing.assert_allclose(2.0 * boom.gyration, np.diag([0.3, 0.02, 0.3]), atol=1e-12)


def test_a_branch_can_be_taken_alone(file):
    parts = from_urdf(file, root="tool")
    assert [joint.name for joint in parts.joints] == ["hoist"]
    assert [body.mass for body in parts.bodies] == [1.0]


def test_what_is_not_understood_is_told(file, tmp_path):
    with pytest.raises(IdentificationError, match=r"no link 'boon'. It has: floor, mount, boom"):
        from_urdf(file, root="boon")
    with pytest.raises(IdentificationError, match="there is no such file"):
        from_urdf(tmp_path / "none.urdf")
    floating = tmp_path / "floating.urdf"
    floating.write_text(ROBOT.replace('type="prismatic"', 'type="floating"'))
    with pytest.raises(IdentificationError, match="joint 'hoist' is floating"):
        from_urdf(floating)
    following = tmp_path / "following.urdf"
    following.write_text(ROBOT.replace('<axis xyz="0 0 -1"/>', '<mimic joint="slew"/>'))
    with pytest.raises(IdentificationError, match="'hoist' mimics 'slew'"):
        from_urdf(following)
    wrong = tmp_path / "wrong.urdf"
    wrong.write_text("no robot")
    with pytest.raises(IdentificationError, match="is not a URDF file"):
        from_urdf(wrong)


SLEW = '<joint name="slew" type="revolute"><parent link="mount"/><child link="boom"/>'
BOOM_MASS = '<mass value="2"/>'
BOOM_INERTIA = 'ixx="0.02" ixy="0" ixz="0" iyy="0.3"'
BACK = '<joint name="back" type="fixed"><parent link="hook"/><child link="boom"/></joint></robot>'
BAD = {
    "a cycle": ("</robot>", BACK, "link 'boom' has two parents, by the joints 'slew' and 'back'"),
    "nothing but a cycle": (
        "</robot>",
        BACK.replace('link="boom"', 'link="floor"'),
        "each link has a parent, so that they form a cycle",
    ),
    "a joint twice": ('name="glued"', 'name="hoist"', "there are several joints 'hoist'"),
    "a link twice": ('<link name="mount"/>', '<link name="hook"/>', "several links 'hook'"),
    "a link that is not there": (
        SLEW,
        SLEW.replace('"boom"', '"bom"'),
        "joint 'slew' has the child 'bom', and there is no such link. Did you mean 'boom'",
    ),
    "no parent": (
        SLEW,
        SLEW.replace('<parent link="mount"/>', ""),
        "joint 'slew' has the parent ''",
    ),
    "two first links": (
        "</robot>",
        '<link name="lonely"/></robot>',
        "the links floor, lonely have no parent",
    ),
    "a negative mass": (BOOM_MASS, '<mass value="-2"/>', "link 'boom' has a mass of -2 kg"),
    "a mass that is no number": (BOOM_MASS, '<mass value="nan"/>', "finite number. Got: 'nan'"),
    "a macro": (BOOM_MASS, '<mass value="${m}"/>', r"expand it first, xacro bad.urdf > expanded"),
    "an inertia without mass": (BOOM_MASS, "", "link 'boom' has an inertia but no mass"),
    "a negative inertia": (BOOM_INERTIA, BOOM_INERTIA.replace("0.02", "-0.02"), "no body has"),
    "no triangle": (BOOM_INERTIA, BOOM_INERTIA.replace('"0.3"', '"0.2"'), "no body has"),
    "no place": ('xyz="0.5 0 0"', 'xyz="0.5 0 inf"', "link 'boom': xyz of <origin> must be three"),
    "no axis": ('<axis xyz="0 0 -1"/>', '<axis xyz="0 0 0"/>', "'hoist' has the axis 0 0 0"),
    "a damper that drives": ('damping="0.7"', 'damping="-1"', "'slew' has a damping of -1"),
    "limits in disorder": ('lower="-1" upper="1"', 'lower="1" upper="-1"', "from 1 to -1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_no_robot_can_be_is_refused(case, tmp_path):
    """yourdfpy takes all of these: it hangs, loses links, or gives a robot that cannot move."""
    old, new, words = BAD[case]
    assert old in ROBOT
    path = tmp_path / "bad.urdf"
    path.write_text(ROBOT.replace(old, new))
    with pytest.raises(IdentificationError, match=words):
        from_urdf(path)


def test_moments_that_were_rounded_are_taken(tmp_path):
    path = tmp_path / "rounded.urdf"
    path.write_text(ROBOT.replace(BOOM_INERTIA, BOOM_INERTIA.replace('"0.3"', '"0.2798"')))
    assert len(from_urdf(path).bodies) == 3
