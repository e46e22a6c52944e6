"""Problems of mechanisms written as MJCF, MuJoCo's format of models.

Each joint becomes a MuJoCo body, with the masses that it carries added up. Springs and dampers
become those of MuJoCo's joints, whose torque is -stiffness (q - springref) - damping dq/dt as well.
There are no contacts, limits, armatures or dry friction. Recorded forces become motors, measured
outputs sensors, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree as xml

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism.kernels.arrays import Values
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import WORLD, Joint, Point
from sofa_softctl.identification.mechanism.problem import MechanismProblem
from sofa_softctl.identification.mechanism.signals import Angle, Output


class Inertial(NamedTuple):
    """A rigid body in the frame of its joint."""

    mass: float
    """Mass [kg]."""
    center: np.ndarray
    """Centre of mass [m], shape (3,)."""
    inertia: np.ndarray
    """About that centre: xx, yy, zz, xy, xz, yz [kg m^2], shape (6,)."""


class Along(NamedTuple):
    """Spring and damper of each coordinate, by their names in MJCF, shapes (n,)."""

    stiffness: np.ndarray
    """Stiffness [N m / rad] or [N / m]."""
    springref: np.ndarray
    """Rest of the spring [rad] or [m]."""
    damping: np.ndarray
    """Damping [N m s / rad] or [N s / m]."""


def mjcf(problem: MechanismProblem, rho: np.ndarray, *, step: float, integrator: str) -> str:
    """A mechanism with its parameters, motors and sensors, as MJCF.

    Args:
        problem: Of a mechanism without constraints, feedback and distances.
        rho: Parameters, shape (n_rho,).
        step: Time step [s].
        integrator: MuJoCo's name of it: RK4, implicitfast, ...

    Raises:
        IdentificationError: The mechanism has constraints, or an output is a distance.
    """
    mechanism = problem.mechanism
    if mechanism.constraints:
        raise IdentificationError(f"{problem.name}: a mechanism with loops is not written as MJCF.")
    root = xml.Element("mujoco")
    xml.SubElement(root, "compiler", angle="radian", autolimits="false")
    option = {"timestep": repr(step), "integrator": integrator, "gravity": _row(mechanism.gravity)}
    xml.SubElement(xml.SubElement(root, "option", option), "flag", contact="disable")
    frames = {WORLD: xml.SubElement(root, "worldbody")}
    for joint in mechanism.joints:
        frames[joint.name] = _frame(frames[joint.parent], joint, mechanism, rho)
    motors, sensors = xml.SubElement(root, "actuator"), xml.SubElement(root, "sensor")
    for force in problem.forces:
        xml.SubElement(motors, "motor", joint=force.joint)
    for output in problem.outputs:
        _sensor(sensors, frames, output)
    return xml.tostring(root, encoding="unicode")


def inertial(joint: str, mechanism: Mechanism, rho: np.ndarray) -> Inertial | None:
    """What a joint carries, as one rigid body; None: nothing."""
    tree = mechanism.tree
    own = tree.body == mechanism.frame(joint)
    if not own.any():
        return None
    masses, centers = _values(tree.mass, rho)[own], tree.center[own]
    center = masses @ centers / masses.sum()
    away = centers - center
    squares = (away**2).sum(axis=1)[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None]
    inertia = np.tensordot(masses, tree.gyration[own] + squares, 1)
    return Inertial(float(masses.sum()), center, inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def along(mechanism: Mechanism, rho: np.ndarray) -> Along:
    """Springs and dampers of the coordinates, each added up to one."""
    tree, n = mechanism.tree, len(mechanism.coordinates)
    each = _values(tree.stiffness, rho)
    stiffness = np.bincount(tree.spring, each, n)
    pull = np.bincount(tree.spring, each * _values(tree.rest, rho), n)
    damping = np.bincount(tree.damper, _values(tree.damping, rho), n)
    rest = np.divide(pull, stiffness, out=np.zeros(n), where=stiffness > 0.0)
    return Along(stiffness, rest, damping)


def _frame(parent: xml.Element, joint: Joint, mechanism: Mechanism, rho: np.ndarray) -> xml.Element:
    """The body of a joint; one that does not move is at its coordinate."""
    turned = np.eye(3) if joint.turned is None else np.asarray(joint.turned, dtype=float)
    axis = np.asarray(joint.axis, dtype=float) / np.linalg.norm(joint.axis)
    at = np.asarray(joint.moved, dtype=float)
    if joint.rigid is not None:
        (fixed,) = mechanism.values([joint.rigid], rho)
        at = at + fixed * turned @ axis if joint.sliding else at
        turned = turned if joint.sliding else turned @ _rotation(axis, fixed)
    axes = _row(turned[:, :2].T.ravel())
    body = xml.SubElement(parent, "body", name=joint.name, pos=_row(at), xyaxes=axes)
    if joint.rigid is None:
        kind = {"name": joint.name, "type": "slide" if joint.sliding else "hinge"}
        c, own = mechanism.coordinate(joint.name), along(mechanism, rho)._asdict()
        values = {key: repr(float(numbers[c])) for key, numbers in own.items()}
        xml.SubElement(body, "joint", kind | {"axis": _row(axis)} | values)
    carried = inertial(joint.name, mechanism, rho)
    if carried is not None:
        values = {"pos": _row(carried.center), "mass": repr(carried.mass)}
        xml.SubElement(body, "inertial", values | {"fullinertia": _row(carried.inertia)})
    return body


def _sensor(sensors: xml.Element, frames: dict[str, xml.Element], output: Output) -> None:
    reading, name = output.reading, output.channels[0].name
    if isinstance(reading, Angle):
        xml.SubElement(sensors, "jointpos", joint=reading.joint)
    elif isinstance(reading, Point):
        xml.SubElement(frames[reading.joint], "site", name=name, pos=_row(reading.at))
        xml.SubElement(sensors, "framepos", objtype="site", objname=name)
    else:
        raise IdentificationError(f"{name}: distances are not written as MJCF; angles, points are.")


def _values(of: Values, rho: np.ndarray) -> np.ndarray:
    """Numbers at parameters rho, shape (n,)."""
    found: np.ndarray = of.constant + of.factor * np.append(rho, 0.0)[of.parameter]
    return found


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about a unit axis, by Rodrigues' formula."""
    K = np.cross(np.eye(3), -axis)  # K v = axis x v
    turned: np.ndarray = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
    return turned


def _row(numbers: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(numbers, dtype=float))
