"""The module `remeshing` by the name that it once had."""

from splib3.topology.remeshing import *  # noqa: F403
