"""Checks of a URDF file before it is read: a tree of links that can exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np

from sofa_softctl.base.files import wrong_file
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import IdentificationError

_ENCODING = re.compile(rb"""\s*<\?xml[^>]*encoding=(["'])([^"']+)\1[^>]*\?>""")
INERTIA_TOLERANCE = 1e-3
"""Rounding error in files, relative to the largest moment of inertia [-]."""
AXES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of an <inertia>."""


def check_urdf(path: Path, root: str | None) -> None:
    """Refuse files that are not URDF, have no tree of links, or impossible bodies.

    Args:
        path: URDF file.
        root: First link, by default the link without a parent.

    Raises:
        IdentificationError: The file is not XML with a <robot>; names are not unique; a joint has
            no links; a link has two parents; there is not exactly one first link; a number is not
            finite; a mass, an inertia, a damping or a friction is impossible.
    """
    robot = _robot(path)
    links, joints = robot.findall("link"), robot.findall("joint")
    for tag, elements in (("link", links), ("joint", joints)):
        twice = [name for name, count in Counter(map(_name, elements)).items() if count > 1]
        if twice:
            raise IdentificationError(
                f"{path}: there are several {tag}s '{twice[0]}'. Names must be different: rename "
                "one of them."
            )
    _check_tree(path, [_name(link) for link in links], joints, root)
    for link in links:
        _check_body(path, link)
    for joint in joints:
        _check_joint(path, joint)


def urdf_content(path: Path) -> bytes:
    """The content of a URDF file; a text in Latin-1 that does not say so in UTF-8.

    Raises:
        IdentificationError: It cannot be read, or is something else.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IdentificationError(f"{path}: cannot be read ({error.strerror}).") from error
    if wrong := wrong_file(data[:1024]):
        raise IdentificationError(f"{path}: expected a URDF file, but this {wrong}.")
    declared = _ENCODING.match(data)
    if declared is None or declared[2].lower() in (b"utf-8", b"us-ascii", b"ascii"):
        try:
            data.decode()
        except UnicodeDecodeError:  # as editors of Windows write it
            text = data.decode("cp1252", "replace")
            return text.replace(text[: declared.end()] if declared else "", "", 1).encode()
    return data


def _robot(path: Path) -> Element:
    try:
        root = fromstring(urdf_content(path))
    except (ParseError, ValueError) as error:
        raise IdentificationError(
            f"{path} is not a URDF file: expected XML with a <robot>. Got a file that is no XML "
            f"({error})."
        ) from error
    if root.tag != "robot":
        raise IdentificationError(
            f"{path} is not a URDF file: expected <robot>. Got: <{root.tag}>."
        )
    texts = (text for element in root.iter() for text in (element.tag, *element.attrib.values()))
    if any("xacro" in text.partition("}")[0] or "${" in text or "$(" in text for text in texts):
        expanded = path.name.partition(".")[0] + ".urdf"
        expanded = "expanded.urdf" if expanded == path.name else expanded
        raise IdentificationError(
            f"{path} is a xacro file, of which a URDF file is made: expand it first, "
            f"xacro {path.name} > {expanded} (ros2 run xacro xacro ..., or "
            "pip install xacro)."
        )
    return root


def _check_tree(path: Path, links: list[str], joints: list[Element], root: str | None) -> None:
    parents: dict[str, str] = {}
    for joint in joints:
        for end in ("parent", "child"):
            element = joint.find(end)
            link = "" if element is None else element.get("link", "")
            if link not in links:
                raise IdentificationError(
                    f"{path}: joint '{_name(joint)}' has the {end} '{link}', and there is no such "
                    f"link.{did_you_mean(link, links)}"
                )
            if end == "child":
                if link in parents:
                    raise IdentificationError(
                        f"{path}: link '{link}' has two parents, by the joints '{parents[link]}' "
                        f"and '{_name(joint)}'. A URDF is a tree: leave one of them out, and close "
                        "the loop with Pin, Rod or Clamp."
                    )
                parents[link] = _name(joint)
    first = [link for link in links if link not in parents]
    if links and not first:
        raise IdentificationError(
            f"{path}: each link has a parent, so that they form a cycle. A URDF is a tree: leave "
            "one joint out, and close the loop with Pin, Rod or Clamp."
        )
    if root is None and len(first) > 1:
        raise IdentificationError(
            f"{path}: the links {', '.join(first)} have no parent: expected one such link. Join "
            "them by fixed joints, or choose a part of the robot by root=NAME."
        )


def _check_body(path: Path, link: Element) -> None:
    """Check that a link has a positive mass with a possible inertia, or neither."""
    location = f"{path}: link '{_name(link)}'"
    inertial = link.find("inertial")
    if inertial is None:
        return
    _check_place(location, inertial)
    mass_element = inertial.find("mass")
    mass = 0.0 if mass_element is None else _number(location, mass_element, "value")
    tensor = inertial.find("inertia")
    six = np.zeros(6) if tensor is None else np.array([_number(location, tensor, k) for k in AXES])
    if mass < 0.0:
        raise IdentificationError(f"{location} has a mass of {mass:g} kg: expected one above 0.")
    if mass == 0.0 and six.any():
        raise IdentificationError(
            f"{location} has an inertia but no mass, which would be lost: give it its mass, or "
            "leave "
            "out its <inertial>."
        )
    full = np.zeros((3, 3))
    i, j = np.triu_indices(3)
    full[i, j] = full[j, i] = six
    smallest, middle, largest = np.linalg.eigvalsh(full)
    if smallest < -INERTIA_TOLERANCE * largest or largest > (1.0 + INERTIA_TOLERANCE) * (
        smallest + middle
    ):
        raise IdentificationError(
            f"{location} has principal moments of inertia of {smallest:.3g}, {middle:.3g} and "
            f"{largest:.3g} kg m^2, which no body has: each is at most the sum of the others."
        )


def _check_joint(path: Path, joint: Element) -> None:
    location = f"{path}: joint '{_name(joint)}'"
    _check_place(location, joint)
    axis = joint.find("axis")
    if axis is not None and not np.any(_numbers(location, axis, "xyz")):
        raise IdentificationError(f"{location} has the axis 0 0 0: expected a direction.")
    dynamics, limit = joint.find("dynamics"), joint.find("limit")
    for name in ("damping", "friction"):
        value = 0.0 if dynamics is None else _number(location, dynamics, name)
        if value < 0.0:
            raise IdentificationError(
                f"{location} has a {name} of {value:g}: expected one above 0."
            )
    if limit is not None:
        lower, upper = _number(location, limit, "lower"), _number(location, limit, "upper")
        if lower > upper:
            raise IdentificationError(
                f"{location} has limits from {lower:g} to {upper:g}: lower must be below upper."
            )


def _check_place(location: str, of: Element) -> None:
    origin = of.find("origin")
    if origin is not None:
        for name in ("xyz", "rpy"):
            _numbers(location, origin, name)


def _numbers(location: str, of: Element, name: str) -> list[float]:
    """Return three numbers of an attribute, 0 if it is missing."""
    text = of.get(name, "0 0 0")
    try:
        numbers = [float(number) for number in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise IdentificationError(
            f"{location}: {name} of <{of.tag}> must be three finite numbers. Got: '{text}'."
        )
    return numbers


def _number(location: str, of: Element, name: str) -> float:
    """Return a number of an attribute, 0 if it is missing."""
    text = of.get(name, "0")
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise IdentificationError(
            f"{location}: {name} of <{of.tag}> must be a finite number. Got: '{text}'."
        )
    return number


def _name(of: Element) -> str:
    return of.get("name", "")
