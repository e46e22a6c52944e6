"""Vectors, quaternions, matrices and rigid transforms; with Python's `math` and `numpy`."""

from math import *  # noqa: F403

import numpy  # noqa: F401
from splib3.numerics.matrix import *  # noqa: F403
from splib3.numerics.quat import *  # noqa: F403
from splib3.numerics.rigid import *  # noqa: F403
from splib3.numerics.transforms import *  # noqa: F403
from splib3.numerics.vec3 import *  # noqa: F403
