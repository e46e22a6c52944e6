"""Example plugin: a component of the embedded runtime, SOFA's PlaneROI under another name.

Install it with `pip install plugins/plane_roi`, or load it for one run:

    softctl run scene.py --plugin plugins/plane_roi/plane_roi.py

Scenes that should also run in SOFA use PlaneROI, which the runtime has itself.
"""

import numpy as np
from typing_extensions import override

from sofa_softctl import hookimpl
from sofa_softctl.runtime import RegionOfInterest, Vectors


class SlabROI(RegionOfInterest):
    """Region of all points inside at least one plane with a depth, including its borders.

    A plane is the parallelogram p0, p1, p2, p0 + p2 - p1, extended by half its depth to both sides;
    with a depth of 0 it has no borders, as in SOFA. An element is inside if one plane contains all
    its nodes, or its centre if the region is not `strict`.

    Departure from SOFA: three corners on a line, which contain every node there, are an error.
    """

    inputs = ("plane",)

    plane = Vectors(10, [], "Corners p0, p1, p2 and the depth of each plane.", unit="length")

    def init(self):
        """Check the planes, then compute.

        Raises:
            SceneError: there is none, or one has its corners on a line.
        """
        planes = self.plane.get()
        if not len(planes):
            raise self.fault("needs 'plane': three corners and a depth.")
        for plane in planes:
            p0, p1, p2 = plane[:9].reshape(3, 3)
            size = np.linalg.norm(p1 - p0) * np.linalg.norm(p2 - p0)
            if not np.linalg.norm(np.cross(p1 - p0, p2 - p0)) > 1e-12 * size:
                raise self.fault(f"has a plane whose corners lie on a line: {plane[:9].tolist()}.")
        super().init()

    @override
    def contains(self, points):
        return np.any([_is_between_borders(plane, points) for plane in self.plane.get()], axis=0)

    def contains_elements(self, points, elements):
        """Return a mask of the elements inside; the nodes of an element must be in one plane."""
        if not self.strict.get():
            return super().contains_elements(points, elements)
        planes = self.plane.get()
        return np.any(
            [_is_between_borders(plane, points)[elements].all(axis=1) for plane in planes], axis=0
        )


def _is_between_borders(plane, points):
    """Return a mask of the points that one plane contains, bool (n,)."""
    p0, p1, p2 = plane[:9].reshape(3, 3)
    depth = plane[9]
    normal = _unit(np.cross(p1 - p0, p2 - p0))
    is_inside = np.abs((points - p0) @ normal) <= abs(depth / 2.0)
    for border in (p1 - p0, p2 - p1):
        border_normal = _unit(np.cross(border, normal)) if depth else np.zeros(3)
        width = abs((p2 - p0) @ border_normal)
        is_inside &= np.abs((points - p0) @ border_normal) <= width
        is_inside &= np.abs((points - p2) @ border_normal) <= width
    return is_inside


def _unit(vector):
    return vector / np.linalg.norm(vector)


@hookimpl
def softctl_register_components(register):
    """Register the component SlabROI."""
    register(SlabROI)
