"""Build the mesh of the gripper with two fingers (mm): gripper.vtk.

Run by hand, `python scenes/meshes/gripper.py`; the file beside it is its output and is
committed. Palm and fingers are one body: a grid swept from one fingertip over the palm to the
other, its inner face cut in at three joints of each finger.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_vtk

WIDTH = 20.0
"""Extent along z [mm]."""
INNER, HINGE, OUTER = 24.5, 29.5, 36.5
"""Distance of a finger's inner face, of the bottom of its notches, and of its back from x = 0, at
its root."""
LEAN = 11.5 / 73.0
"""Outward slope of a finger along its length; it is straight when closed [-]."""
PALM = [
    ((0.0, -8.0), (0.0, 8.0)),
    ((7.0, -8.0), (7.0, 8.0)),
    ((14.0, -8.0), (14.0, 8.0)),
    ((20.5, -8.0), (21.0, 8.0)),
    ((23.3, -9.2), (28.5, 7.0)),
    ((24.1, -10.4), (34.0, 2.0)),
]
"""Inner and outer end of the sections from the palm's middle to the root of a finger, (x, y)."""
HEIGHTS = [-12.0]
"""Sections of a finger along y, from its root down."""
for _joint in range(3):
    HEIGHTS += [HEIGHTS[-1] + d for d in (-4.5, -9.0, -13.5, -17.0, -21.5)]
HEIGHTS += [HEIGHTS[-1] - d for d in (5.5, 11.0, 16.5)]
JOINTS = (3, 4, 8, 9, 13, 14)
"""Numbers of the sections that lie in a notch."""
ACROSS = 4


def half() -> np.ndarray:
    """Inner and outer ends of the sections of the right half, from the middle, shape (n, 2, 2)."""
    finger = []
    for k, y in enumerate(HEIGHTS):
        out = LEAN * (HEIGHTS[0] - y)
        inner = HINGE if k in JOINTS else INNER
        finger.append(((inner + out, y), (OUTER + out, y)))
    return np.array(PALM + finger)


def gripper_mesh() -> Mesh:
    """The gripper, its palm about the origin, its fingers hanging along -y."""
    right = half()
    sections = np.concatenate([right[:0:-1] * [-1.0, 1.0], right])
    shares = np.linspace(0.0, 1.0, ACROSS)
    depths = np.linspace(-WIDTH / 2.0, WIDTH / 2.0, ACROSS)
    nodes = [
        (*((1.0 - share) * inner + share * outer), z)
        for (inner, outer), share, z in itertools.product(sections, shares, depths)
    ]
    return orient(np.array(nodes), grid_tetrahedra((len(sections), ACROSS, ACROSS)))


def main() -> None:
    mesh = gripper_mesh()
    heights = np.array([-12.5, -20.5, -34.0, -42.0, -55.5, -63.5, -77.0, -90.0])  # of the cables
    x = INNER + 2.5 + LEAN * (HEIGHTS[0] - heights)
    check(mesh, np.stack([x, heights, 6.0 + 0.0 * x], axis=-1))
    write_vtk(HERE / "gripper.vtk", mesh, "gripper with two fingers, mm")
    print("gripper", summary(mesh))


if __name__ == "__main__":
    main()
