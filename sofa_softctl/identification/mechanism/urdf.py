"""Import of mechanisms from URDF files, by yourdfpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.mechanism.parts import WORLD, Body, Damper, Friction, Joint
from sofa_softctl.identification.mechanism.urdf_checks import check_urdf, urdf_content

TURNING, SLIDING, FIXED = ("revolute", "continuous"), ("prismatic",), ("fixed",)
"""Supported types of joints."""


@dataclass(frozen=True)
class Parts:
    """Parts of a mechanism from a URDF file, to be modified and extended."""

    joints: list[Joint]
    """Moving joints; links behind fixed joints belong to the next moving joint towards the root."""
    bodies: list[Body]
    """Links with a mass, except those that never move."""
    dampers: list[Damper]
    """Dampers of joints with damping."""
    frictions: list[Friction] = field(default_factory=list)
    """Coulomb friction of joints with friction."""


def from_urdf(path: str | Path, *, root: str | None = None) -> Parts:
    """The joints, masses, dampers and friction of a robot.

    Limits of joints are not taken over: stops of joints are not modelled. A link
    with a mass and no <inertia> is a point mass.

    Args:
        path: URDF file; meshes are not read.
        root: First link, whose frame is the world's; by default the root of the file.

    Raises:
        IdentificationError: yourdfpy is missing; the file cannot be read; its links form no tree;
            masses, inertias, damping or friction are impossible; `root` does not exist; or a joint
            is not revolute, continuous, prismatic or fixed, or mimics another.
    """
    robot = _robot(Path(path), root)
    links = {link.name: link for link in robot.link_map.values()}
    children = {joint.child for joint in robot.joint_map.values()}
    begin = next((name for name in links if name not in children), "") if root is None else root
    if begin not in links:
        raise IdentificationError(f"{path}: there is no link '{begin}'. It has: {_names(links)}.")
    parts = Parts([], [], [])
    for link, carrier, place in _walk(robot, begin, parts, path):
        inertial = links[link].inertial
        if carrier != WORLD and inertial is not None and inertial.mass:
            parts.bodies.append(_body(inertial, carrier, place))
    return parts


def _walk(
    robot: Any, begin: str, parts: Parts, path: str | Path
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield each link, its moving joint and pose; add joints, dampers and friction to `parts`."""
    waiting = [(begin, WORLD, np.eye(4))]
    while waiting:
        link, carrier, place = waiting.pop(0)
        yield link, carrier, place
        for joint in (
            child_joint for child_joint in robot.joint_map.values() if child_joint.parent == link
        ):
            at = place @ (np.eye(4) if joint.origin is None else joint.origin)
            if joint.type in FIXED:
                waiting.append((joint.child, carrier, at))
                continue
            _check(joint, path)
            parts.joints.append(
                Joint(
                    joint.name,
                    carrier,
                    axis=tuple(joint.axis),
                    sliding=joint.type in SLIDING,
                    moved=tuple(at[:3, 3]),
                    turned=at[:3, :3],
                )
            )
            if joint.dynamics is not None and joint.dynamics.damping:
                parts.dampers.append(Damper(joint.name, float(joint.dynamics.damping)))
            if joint.dynamics is not None and joint.dynamics.friction:
                parts.frictions.append(Friction(joint.name, float(joint.dynamics.friction)))
            waiting.append((joint.child, joint.name, np.eye(4)))


def _body(inertial: Any, carrier: str, place: np.ndarray) -> Body:
    at = place @ (np.eye(4) if inertial.origin is None else inertial.origin)
    inertia = np.zeros((3, 3)) if inertial.inertia is None else np.asarray(inertial.inertia)
    turned = at[:3, :3] @ inertia @ at[:3, :3].T
    return Body(carrier, float(inertial.mass), tuple(at[:3, 3]), turned / inertial.mass)


def _check(joint: Any, path: str | Path) -> None:
    if joint.type not in (*TURNING, *SLIDING):
        raise IdentificationError(
            f"{path}: joint '{joint.name}' is {joint.type}. Supported are revolute, prismatic and "
            "fixed joints: replace it by several of them."
        )
    if joint.mimic is not None:
        raise IdentificationError(
            f"{path}: joint '{joint.name}' mimics '{joint.mimic.joint}', which is not supported. "
            "Make it fixed."
        )


def _robot(path: Path, root: str | None) -> Any:
    try:
        import yourdfpy
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise IdentificationError(
            f"Reading URDF needs yourdfpy: {install_command('urdf')}."
        ) from error
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "there is no such file"
        raise IdentificationError(f"{path}: {problem}. Expected a URDF file.")
    check_urdf(path, root)
    try:
        return yourdfpy.URDF.load(
            BytesIO(urdf_content(path)),
            build_scene_graph=False,
            load_meshes=False,
            load_collision_meshes=False,
        )
    except Exception as error:
        raise IdentificationError(f"{path} is not a URDF file: {error}.") from error


def _names(links: dict[str, Any]) -> str:
    return ", ".join(links) or "none"
