"""Objects that represent nodes, and setting several Data.

Scenes that import everything from here rely on Sofa and on the modules that it exports.
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
