"""The module `remeshing` under its old name."""

from splib3.topology.remeshing import *  # noqa: F403
