"""The hash of a model: whatever changes an equilibrium changes it, and nothing else does."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError, SoftctlError
from sofa_softctl.scene.copies.equilibrium import equilibrium_map
from sofa_softctl.scene.copies.model_hash import model_hash

SCENE = Path(__file__).with_name("mixed_body.py")
U = np.array([0.3, 0.2])
WITHOUT = ("/bar.pad", "/bar/corner.dofs", "/bar/side.mapping")
"""Parts of which no Data changes the equilibria here."""
PATHS = [
    *("/bar.dofs", "/bar.mass", "/bar.elasticity", "/bar.springs", "/bar.pad", "/bar.foot"),
    *("/bar.slot", "/bar.line", "/bar/side.dofs", "/bar/side.line", "/bar/side.mapping"),
    *("/bar/corner.dofs", "/bar/corner.mapping", "/anchor.dofs", "/bar.mesh", "/.root"),
]


def built(edit=None, *, points=("/bar/corner",), scale=200.0, **parameters):
    given = {**parameters, "edit": edit}
    return equilibrium_map(SCENE, scale=scale, points=points, parameters=given)


def hash_of(edit=None, **given):
    return model_hash(built(edit, **given))


def part_of(root, path):
    node_path, name = path.split(".")
    node = root
    for each in filter(None, node_path.split("/")):
        node = node.getChild(each)
    return node if name == "root" else node.getObject(name)


def outputs(map_):
    found = map_(U)
    return np.concatenate([found.x.ravel(), found.lengths, found.points.ravel()])


def same(first, second):
    """To the accuracy of an equilibrium, 1e-7 of the robot's size."""
    return first.shape == second.shape and np.abs(first - second).max() < 1e-7 * 30.0


def others(value, choices):
    """Some other values of a Data."""
    if choices:
        return [choice for choice in choices if choice != value]
    if isinstance(value, bool | np.bool_):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, 2.0 * value, value + 0.01]
    if not isinstance(value, np.ndarray):
        return []
    if value.dtype == bool:
        return [np.logical_xor(value, np.arange(value.size).reshape(value.shape) == 0)]
    if not value.size:
        return [[2, 3], [1.5], [[1.0, 2.0, 3.0]]]
    step = 1 if value.dtype.kind in "iu" else 0.1
    one = value.copy()
    one.flat[value.size // 2] += step
    return [one, value + step, 2 * value, value[::-1].copy(), value[:1].copy()]


@pytest.fixture(scope="module")
def usual():
    map_ = built()
    return model_hash(map_), outputs(map_)


@pytest.mark.processes
@pytest.mark.parametrize("path", PATHS)
def test_every_data_that_changes_an_equilibrium_changes_the_hash(usual, path):
    """All Data of a part, each with a few other values; those that a scene refuses are left out."""
    names = []

    def list_data(root):
        part = part_of(root, path)
        for name, data in part._data.items():
            if data.type.computed:
                continue
            values = others(data.get(), data.type.choices)
            names.extend((name, value) for value in values if not data.type.read_only)

    built(list_data)
    assert names
    changed, wrong = 0, []
    for name, value in names:

        def edit(root, name=name, value=value):
            data = part_of(root, path)._data[name]
            data.value = value

        try:
            map_ = built(edit)
            digest = model_hash(map_)
            if digest != usual[0] and changed:
                continue  # the equilibrium may be the same or another
            other = not same(outputs(map_), usual[1])
        except (SoftctlError, ArithmeticError, IndexError, ValueError, RuntimeWarning):
            continue
        changed += other
        if other and digest == usual[0]:
            wrong.append((name, value))
    assert not wrong
    assert changed or path in WITHOUT


@pytest.mark.parametrize(
    "pad",
    [
        {"stiffness": 3.5},
        {"nodes": (5, 10)},
        {"law": lambda k: 1.1 * k},
        {"law": lambda k, more=1.2: more * k},
    ],
    ids=["number", "array", "function", "default"],
)
def test_attributes_of_a_force_field_in_python_change_it(usual, pad):
    map_ = built(pad=pad)
    assert model_hash(map_) != usual[0]
    assert not same(outputs(map_), usual[1])


def test_a_difference_that_shows_far_from_rest_alone_changes_it(usual):
    """The equations near the rest are the same: attributes are compared, too."""

    def law(k, beyond=100.0):
        return k

    def other(k, beyond=200.0):
        return k

    assert hash_of(pad={"law": law}) != hash_of(pad={"law": other})


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("FACTOR = 2.0", "FACTOR = 2.5"),
        ("return FACTOR * (x - rest)", "return FACTOR * (rest - x)"),
        ("    exponent = 1.0", "    exponent = 1.1"),
        ("f[self.nodes] -= self", "f[self.nodes] -= 2.0 * self"),
    ],
)
def test_code_and_globals_of_a_force_field_in_python_change_it(usual, tmp_path, text, other):
    source = SCENE.read_text()
    assert source.count(text) == 1
    path = tmp_path / SCENE.name
    path.write_text(source.replace(text, other))
    assert model_hash(equilibrium_map(path, scale=200.0, points=["/bar/corner"])) != usual[0]


def test_what_links_lead_to_changes_it(usual):
    def far(root):
        root.anchor.dofs.position.value = [[1.0, 2.0, 30.0], [9, 1, 33]]

    def own(root):
        root.bar.springs._links["external_rest_shape"].assign("", None)

    def gravity(root):
        root.gravity.value = [0.0, 100.0, -9820.0]

    def mapped(root):
        root.bar.side.dofs.position.value = [[5, 9, 25], [5.0, 9.5, 12.0]]

    found = {hash_of(edit) for edit in (far, own, gravity, mapped)}
    assert len(found | {usual[0]}) == 5


def test_lines_and_watched_points_change_it(usual):
    def shorter(root):
        root.bar.line.indices.value = [9]

    def turned(root):
        root.bar.line.indices.value = [9, 13]

    def free(root):
        root.bar.line.hasPullPoint.value = False

    found = {hash_of(edit) for edit in (shorter, turned, free)}
    found |= {hash_of(points=points) for points in ((), ("/bar",), ("/bar/corner", "/bar/side"))}
    found |= {hash_of(points=("/bar/side", "/bar/corner")), hash_of(scale=201.0), usual[0]}
    assert len(found) == 9


@pytest.mark.parametrize("elasticity", ["Tetrahedron", "FastTetrahedralCorotational"])
def test_materials_set_after_the_start_change_it(elasticity):
    """An estimate sets moduli of elements, and masses, without Data that scenes give."""
    name = {"Tetrahedron": "TetrahedronFEMForceField"}.get(elasticity, f"{elasticity}ForceField")
    softer, lighter, usual = (built(elasticity=name) for _ in range(3))
    softer.system.force_fields[0].set_moduli(slice(0, 2), 200.0)
    lighter.system.masses[0].scale(1.01)
    assert len({model_hash(map_) for map_ in (softer, lighter, usual)}) == 3


def test_names_time_steps_files_and_motions_do_not_change_it(usual, tmp_path):
    def edit(root):
        root.dt.value = 0.02
        root.bar.line.value.value = [3.0]
        root.bar.line.name.value = "tendon"
        root.bar.dofs.printLog.value = True

    path = tmp_path / "elsewhere.py"
    path.write_text(SCENE.read_text())
    moved = built()
    moved(U)
    there = equilibrium_map(path, scale=200.0, points=["/bar/corner"])
    assert {hash_of(edit), model_hash(moved), model_hash(there)} == {usual[0]}


def test_the_hash_leaves_the_map_as_it_was():
    map_ = built()
    found = map_(U)
    model_hash(map_)
    assert np.array_equal(map_.positions(), found.x)
    assert [line.tension for line in map_.lines] == list(200.0 * U)
    again = map_(U, found)
    assert again.iterations == 0


HASHED = """
import sys
from sofa_softctl.scene.copies.equilibrium import equilibrium_map
from sofa_softctl.scene.copies.model_hash import model_hash
map_ = equilibrium_map(sys.argv[1], scale=200.0, points=["/bar"], parameters={"turned": 33.0})
print(model_hash(map_), map_.rest.tobytes().hex())
"""


@pytest.mark.processes
def test_another_process_and_another_computer_have_the_same_hash():
    """Kernels of BLAS and NumPy for other processors, and another seed of hashes.

    The scene turns the mesh: positions come out of products of matrices, and may differ in their
    last digits.
    """
    found = set()
    for other in (
        {"PYTHONHASHSEED": "1"},
        {
            "PYTHONHASHSEED": "2",
            "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
            "OPENBLAS_CORETYPE": "Prescott",
        },
    ):
        command = [sys.executable, "-W", "ignore", "-c", HASHED, str(SCENE)]
        done = subprocess.run(
            command, env={**os.environ, **other}, capture_output=True, text=True, check=True
        )
        found.add(done.stdout.split()[0])
    assert len(found) == 1


def test_an_attribute_that_cannot_be_compared_is_refused():
    expected = "Pad '/bar/pad' has the attribute 'law' by which models cannot be told apart"
    with open(SCENE) as file, pytest.raises(SceneError, match=expected) as raised:

        def law(k):
            return k if file else k

        hash_of(pad={"law": law})
    assert "plan without a store" in str(raised.value)
