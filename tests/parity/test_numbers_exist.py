"""Numbers of nodes, elements and the like that a script sets in a run, for every component.

Kernels check no bounds: a number of what does not exist is an error where it is set, or unused.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.data import types

spec = importlib.util.spec_from_file_location(
    "changed_data", Path(__file__).with_name("changed_data.py")
)
changed_data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(changed_data)

RECORD = json.loads(changed_data.RECORD.read_text())
CLASSES = {cls.__name__: cls for cls in changed_data.classes()}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Scenes write files where they run."""
    monkeypatch.chdir(tmp_path)


NAMES_NOTHING = {
    "resolution": "numbers of vertices",
    "n": "numbers of vertices",
    "elongationOnly": "1 or 0",
    "enabled": "1 or 0",
    "inputROI": "a set of numbers is all that a MeshBoundaryROI knows",
    "polynomialDegree": "numbers of coefficients",
}
"""Lists of whole numbers that are not of what exists."""
SETS = {("MeshBoundaryROI", "triangles"), ("MeshBoundaryROI", "quads")}
LEFT_OUT = {"ValuesFromIndices", "MergeSets"}
"""The first goes on without what does not exist, with a warning, as in SOFA; sets of any number."""
GROWS = {"IndexValueMapper", "ROIValueMapper"}
"""Their lists grow to the largest number."""
SINGLE = {"index", "sliding_point", "axis_1", "axis_2"}
"""Numbers of one node."""


def is_number(name, kind):
    return isinstance(kind, types.Integers | types.Elements) or name in SINGLE


def numbers_of(kind):
    return [
        name
        for name in changed_data.data_of(CLASSES[kind])
        if is_number(name, CLASSES[kind].data_types[name])
        if name not in NAMES_NOTHING and (kind, name) not in SETS and kind not in LEFT_OUT
    ]


def scene_of(kind):
    scenes = [entry[1] for entry in RECORD.get(kind, {}).values() if entry[1]]
    return max(sorted(set(scenes)), key=scenes.count, default="")


def started(kind):
    simulation = changed_data.runtime().Simulation
    root = changed_data.build(scene_of(kind))
    component = changed_data.component_of(root, kind)
    simulation.init(root)
    simulation.animateNSteps(root, 1, 0)
    return root, component


def with_number(data, number):
    value = data.get()
    if np.isscalar(value):
        return number
    width = data.type.width if isinstance(data.type, types.Elements) else 1
    value = value.copy() if len(value) else np.zeros((1, width), dtype=int)
    value.flat[-1] = number
    return value


def after_a_step(root, component):
    changed_data.runtime().Simulation.animateNSteps(root, 1, 0)
    return changed_data.seen(root, component)


@pytest.mark.parametrize("number", [-1, 10**6])
@pytest.mark.parametrize("kind", [kind for kind in CLASSES if scene_of(kind) and numbers_of(kind)])
def test_a_number_of_nothing_is_an_error_or_has_no_effect(kind, number, tolerant):
    root, component = started(kind)
    unchanged = None
    for name in numbers_of(kind):
        if number > 0 and kind in GROWS:
            continue
        try:
            component._data[name].value = with_number(component._data[name], number)
            found = after_a_step(root, component)
        except SceneError as error:
            assert name in str(error), error
            of = component._data[name].type.of
            if of and of not in component._data:
                assert f"has {number}, but there are" in str(error)
                continue  # it was refused, and the scene goes on
        else:
            if unchanged is None:
                unchanged = after_a_step(*started(kind))
            assert changed_data.same(found, unchanged), name
        root, component = started(kind)
