"""Which names of SOFA's Python API a folder of example scenes uses."""

import ast
from collections import Counter
from pathlib import Path

API = ("Sofa", "SofaRuntime")


def count(folders):
    """How many files use each dotted name of the modules, and each attribute of anything else.

    An attribute such as `.addObject` says nothing about its owner; those of other modules (numpy)
    and of what a file's own classes define do not count.
    """
    dotted, attributes = Counter(), Counter()
    for folder in folders:
        for file in sorted(Path(folder).rglob("*.py")):
            tree = _tree(file)
            if tree is not None:
                names, others = _names_in(tree)
                dotted.update(names)
                attributes.update(others)
    return dotted, attributes


def _tree(file):
    try:
        tree = ast.parse(file.read_text(encoding="utf-8-sig", errors="replace"))
    except SyntaxError:
        return None  # written for Python 2
    scene = any(getattr(node, "name", "") == "createScene" for node in ast.walk(tree))
    return tree if scene or any(_is_api(name) for name in _imports(tree).values()) else None


def _names_in(tree):
    """Dotted names of the API with all their beginnings, and other attributes, as two sets."""
    aliases, own = _imports(tree), _defined(tree)
    dotted = {name for name in aliases.values() if _is_api(name)}
    others = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        first, *rest = ast.unparse(node).split(".")
        if first in aliases:
            dotted.add(".".join([aliases[first], *rest]))
        elif not (first == "self" and rest[0] in own and len(rest) == 1):
            others.add(node.attr)
    dotted = {name for name in dotted if _is_api(name)}
    return {start for name in dotted for start in _beginnings(name)}, others


def _imports(tree):
    """What each imported name stands for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for entry in node.names:
                top = entry.name.partition(".")[0]
                found[entry.asname or entry.name] = entry.name
                found[entry.asname or top] = entry.name if entry.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for entry in node.names:
                if entry.name != "*":
                    found[entry.asname or entry.name] = f"{node.module}.{entry.name}"
            if node.module == "Sofa.constants" and node.names[0].name == "*":
                found |= {name: f"Sofa.constants.{name}" for name in ("Key", "KeyCode")}
            if node.module == "Sofa.constants.Key":
                found["Key"] = node.module
    return found


def _defined(tree):
    """Names of methods, and of attributes that are set on `self`."""
    methods = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    set_on_self = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return methods | set_on_self


def _is_api(name):
    return name.partition(".")[0] in API


def _beginnings(name):
    parts = name.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]
