"""Messages of ROS that devices send and understand, whichever way they travel.

A message comes as a dictionary (rosbridge's JSON) or as an object (rclpy); its type is named as in
ROS 1, 'std_msgs/Float64MultiArray', or as in ROS 2, 'std_msgs/msg/Float64MultiArray'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import ConfigError


def field(message: Any, *path: str) -> Any:
    """Return a nested field of a message, by its path of names."""
    for name in path:
        message = message[name] if isinstance(message, Mapping) else getattr(message, name)
    return message


def _pose(message: Any, *path: str) -> np.ndarray:
    """Return position and quaternion x, y, z, w, shape (7,)."""
    return np.array(
        [field(message, *path, "position", axis) for axis in "xyz"]
        + [field(message, *path, "orientation", axis) for axis in "xyzw"],
        float,
    )


SIGNALS: dict[str, Callable[[Any], np.ndarray]] = {
    "std_msgs/Float64": lambda m: np.array([field(m, "data")], float),
    "std_msgs/Float64MultiArray": lambda m: np.array(field(m, "data"), float),
    "std_msgs/Float32MultiArray": lambda m: np.array(field(m, "data"), float),
    "sensor_msgs/JointState": lambda m: np.array(field(m, "position"), float),
    "geometry_msgs/PointStamped": lambda m: np.array([field(m, "point", a) for a in "xyz"], float),
    "geometry_msgs/Pose": lambda m: _pose(m),
    "geometry_msgs/PoseStamped": lambda m: _pose(m, "pose"),
}
"""Numbers of a message, shape (n,), by its type."""
COMMANDS = ("std_msgs/Float64MultiArray", "sensor_msgs/JointState")
"""Types of commands, and of feedback with positions."""


def parts(kind: str) -> tuple[str, str]:
    """Return package and name of a type of ROS 1 or ROS 2."""
    package, *middle, name = f"{kind}".split("/") if "/" in kind else ("", kind)
    return package, name if middle in ([], ["msg"]) else kind


def check_type(option: str, kind: str, valid_types: Sequence[str]) -> str:
    """Return a type as 'package/Name'.

    Raises:
        ConfigError: The type is not in `valid_types`.
    """
    name = "/".join(parts(kind))
    if name not in valid_types:
        raise ConfigError(
            f"{option}: expected a message type, {', '.join(valid_types)}; got '{kind}'."
            f"{did_you_mean(name, valid_types)}"
        )
    return name


def command(kind: str, joints: Sequence[str], values: Sequence[float]) -> dict[str, Any]:
    """Return the fields of a command; the sender sets a header's time.

    Args:
        kind: One of `COMMANDS`.
        joints: Name of each value, for JointState.
        values: Values in the order of the message.
    """
    if kind == "sensor_msgs/JointState":
        return {"name": list(joints), "position": list(values), "velocity": [], "effort": []}
    return {"layout": {"dim": [], "data_offset": 0}, "data": list(values)}


def positions(
    kind: str, joints: Sequence[str], message: Any
) -> tuple[dict[int, float], dict[int, float]]:
    """Return positions and efforts in a message of feedback, by index of the joint.

    Joints of other names, and numbers that are not finite, are left out.
    """
    if kind != "sensor_msgs/JointState":
        return _numbers(range(len(joints)), field(message, "data")), {}
    indices = {name: index for index, name in enumerate(joints)}
    names = [indices.get(name, -1) for name in field(message, "name")]
    return _numbers(names, field(message, "position")), _numbers(names, field(message, "effort"))


def _numbers(indices: Sequence[int], values: Sequence[float]) -> dict[int, float]:
    pairs = zip(indices, values, strict=False)  # a driver may leave efforts out
    return {index: float(v) for index, v in pairs if index >= 0 and np.isfinite(v)}
