"""Who may import whom: a package imports from lower layers only, and no modules go in a circle.

Every import counts, those within functions and those for types alone too.
"""

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

from sofa_softctl.offers import CONTROLLERS

ROOT = Path(__file__).parents[1]
HOMES = [CONTROLLERS.home_of(name).removeprefix("sofa_softctl.") for name in CONTROLLERS.names()]
"""Modules of the built-in controllers."""
LAYERS = (
    ("acceptance", "errors", "status", "units"),
    ("base",),
    ("qp", "record"),
    ("hooks",),
    ("qpcc",),
    ("runtime",),
    ("scene",),
    tuple(sorted({home.split(".")[0] for home in HOMES} - {"learning"})),
    ("offers",),
    ("plugins",),
    ("batch", "check"),
    ("bench",),
    ("view",),
    ("learning",),
    ("cli",),
    ("testing",),
)
"""Lowest first. Packages of one layer know nothing of each other."""
RUNTIME = (
    ("helper", "kernels", "mesh"),
    ("core",),
    ("behavior",),
    ("simulation",),
    ("components", "derivatives", "equilibrium"),
    ("bindings",),
)
"""The same within the runtime."""
INNER = {
    "batch": "study table execution .",
    "bridge": "quantities|device registry protocol devices|config course link stream client .",
    "identification": "model data effects fitting uncertainty causes|design report mechanism|fem"
    " online",
    "inverse": "rows aspects goals .",
    "learning": "task policy surrogates environments measuring training",
    "library": "ocp motions building|reduced playing",
    "qpcc": "problem pieces search solve examples",
    "scene": "backend graph control plausibility watch mesh_error session copies",
    "surrogate": "grid cells|sparse costs program planning models scene",
    "view": "words plots|paraview|movie pages|browser terminal result",
}
"""Layers within packages, lowest first: a folder imports from those before it. `|` joins folders of
one layer, which know nothing of each other; `.` is what lies in no folder."""
AMONG_THEMSELVES = {
    frozenset({"acceptance", "errors", "status", "units"}): "single files without a domain",
    frozenset({"helper", "kernels", "mesh"}): "meshes are read into arrays of the kernels",
}
"""Layers whose members may import each other, and why."""
CIRCLES = (
    ("runtime.core", 11, "a node holds components, and a component knows its node"),
    ("runtime.core.data", 2, "a Data has a declaration, and a declaration makes Data"),
)
"""Folder, most modules, and why: an object and what belongs to it, in one folder."""


@cache
def modules():
    """Path of each module by its name without `sofa_softctl.`."""
    package = ROOT / "sofa_softctl"
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__").removesuffix("__init__")] = path
    return found


@cache
def imports_of(module):
    """The modules of this package that it imports, in whatever way."""
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative import"
            names = [(node.module, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name, alias.name) for alias in node.names]
        for holder, name in names:
            for candidate in (name, holder):
                own = candidate.removeprefix("sofa_softctl.")
                if own != candidate and own in modules():
                    found.add(own)
                    break
    return found - {module}


def layer_of(name, layers):
    return next((number for number, layer in enumerate(layers) if name in layer), None)


def check(module, imported, layers, place):
    own, other = module.split(".")[place], imported.split(".")[place]
    if own == other:
        return
    a, b = layer_of(own, layers), layer_of(other, layers)
    assert b is not None, f"which layer is {imported} in? Add its package to the table."
    free = any({own, other} <= group for group in AMONG_THEMSELVES)
    assert b < a or (a == b and free), f"{module} imports {imported}, which is not below it"


def test_modules_import_from_lower_layers_only():
    for module in filter(None, modules()):
        assert layer_of(module.split(".")[0], LAYERS) is not None, f"which layer is {module} in?"
        for imported in imports_of(module):
            check(module, imported, LAYERS, 0)
            if all(name.startswith("runtime.") for name in (module, imported)):
                check(module, imported, RUNTIME, 1)


def test_folders_import_from_lower_folders_only():
    upward = []
    for package, layers in INNER.items():
        level = {
            folder: number
            for number, layer in enumerate(layers.split())
            for folder in layer.split("|")
        }
        for module in (name for name in modules() if name.startswith(f"{package}.")):
            folder = folder_of(module, level)
            assert folder in level, f"{module}: which layer of {package} is it in?"
            upward += [
                f"{module} imports {imported}"
                for imported in imports_of(module)
                if imported.startswith(f"{package}.")
                and folder_of(imported, level) != folder
                and level[folder_of(imported, level)] >= level[folder]
            ]
    assert not upward, "from a folder that is not below:\n" + "\n".join(upward)


def folder_of(module, known):
    """The folder of its package that a module lies in, or the module if the table names it."""
    name = module.split(".")[1]
    is_loose = module.count(".") == 1 and modules()[module].name != "__init__.py"
    return "." if is_loose and name not in known else name


def test_the_page_for_contributors_shows_the_layers():
    page = (ROOT / "docs" / "contributing.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if re.match(r"\| \d+ \|", line)]
    numbers = {}
    for _, number, packages, _, folders, _ in rows:
        for package in re.findall(r"`(\w+)`", packages):
            numbers[package] = int(number)
            tables = re.split(r"[ |]", INNER.get(package, ""))
            inner = [name for name in tables if is_folder(f"{package}.{name}")]
            assert re.findall(r"`(\w+)`", folders) == inner, package
    documented = [sorted(set(layer) & set(numbers)) for layer in LAYERS]
    for lower, upper in pairwise(filter(None, documented)):
        assert max(numbers[name] for name in lower) < min(numbers[name] for name in upper)
    assert {*numbers} >= {name for layer in LAYERS for name in layer if is_folder(name)}


def is_folder(name):
    """Return True for a package, of this one."""
    return name in modules() and modules()[name].name == "__init__.py"


def circles():
    """Modules that import each other, directly or not, as sets."""
    reach = {}
    for module in modules():
        todo, seen = [module], set()
        while todo:
            for imported in imports_of(todo.pop()):
                if imported not in seen:
                    seen.add(imported)
                    todo.append(imported)
        reach[module] = seen
    mutual = {
        module: frozenset({other for other in seen if module in reach[other]})
        for module, seen in reach.items()
        if module in seen
    }
    return set(mutual.values())


def test_circles_stay_within_the_folders_where_they_belong():
    allowed = {folder: most for folder, most, _ in CIRCLES}
    for circle in circles():
        folders = {module.rpartition(".")[0] for module in circle}
        assert len(folders) == 1, f"a circle between folders: {sorted(circle)}"
        most = allowed.get(folders.pop(), 0)
        assert len(circle) <= most, f"a new circle, or a larger one: {sorted(circle)}"


def test_packages_of_controllers_never_import_the_runtime():
    """They run in SOFA, too: what they need of it, `scene` has for both backends."""
    packages = {home.split(".")[0] for home in HOMES} - {"scene"}
    imports = [
        f"{module} imports {imported}"
        for module in modules()
        if module.split(".")[0] in packages
        for imported in imports_of(module)
        if imported.split(".")[0] == "runtime"
    ]
    assert not imports, imports
