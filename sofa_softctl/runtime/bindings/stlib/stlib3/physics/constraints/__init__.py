"""What holds an object, and parts of it with another material."""

from stlib3.physics.constraints.fixedbox import FixedBox
from stlib3.physics.constraints.partiallyfixedbox import PartiallyFixedBox
from stlib3.physics.constraints.subTopology import SubTopology

__all__ = ["FixedBox", "PartiallyFixedBox", "SubTopology"]
