"""Objects that are made of nodes, and setting several Data at once.

Scenes that import everything from here rely on Sofa and on the modules that come with it.
"""

import functools
import os
import re
import sys

import Sofa
from splib3.objectmodel.prefab import SofaObject, SofaPrefab
from splib3.objectmodel.set_data import setData, setTreeData

__all__ = [
    "Sofa",
    "SofaObject",
    "SofaPrefab",
    "functools",
    "os",
    "re",
    "setData",
    "setTreeData",
    "sys",
]
