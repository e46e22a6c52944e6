"""SOFA installations that are made of empty files, and of a package Sofa that can do a step."""

import os
import sys

import pytest

BINARIES = "plugins/SofaPython3/lib/python3/site-packages"
"""Where the release binaries have SofaPython3."""
CORE = """
class Array(list):
    def array(self): return self
    def tolist(self): return {positions}
class Object:
    def __init__(self, position=()): self.position = Array(position)
class Node:
    def __init__(self, name): pass
    def addObject(self, kind, **values): return Object(**values)
Controller = Node
"""
RUNTIME = """
import os
def importPlugin(name):
    os.write(1, f"[INFO]    Loaded plugin: {name}\\n".encode())
    if name in BROKEN:
        os.write(1, b"[ERROR]   [PluginManager] libFoo.so.3: no such file\\n")
    return name not in BROKEN
"""


@pytest.fixture
def no_sofa_of_this_machine(monkeypatch):
    """What the shell says of SOFA is forgotten, here and in processes that a test starts."""
    for name in ("SOFA_ROOT", "SOFA_PLUGIN_PATH", "SOFTCTL_BACKEND", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    path = [entry for entry in sys.path if not os.path.isdir(os.path.join(entry, "SofaRuntime"))]
    monkeypatch.setattr(sys, "path", path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def make_sofa(tmp_path):
    """make_sofa(...) -> SOFA's folder; the package Sofa in it is of plain Python."""

    def make(
        name="SOFA",
        *,
        below=BINARIES,
        version="25.06.00",
        plugins=("Sofa.Component", "SoftRobots"),
        compiled=None,
        code="",
        positions="list(self)",
        broken=(),
    ):
        root = tmp_path / name
        files = {
            "Sofa/__init__.py": f"print('Checking SOFA_ROOT')\n{code}\n",
            "Sofa/Core.py": CORE.format(positions=positions),
            "Sofa/Simulation.py": "def init(root): pass\ndef animate(root, dt): pass\n",
            "Sofa/SofaConstraintSolver.py": "",
            "SofaRuntime/__init__.py": f"BROKEN = {tuple(broken)}\n{RUNTIME}",
        }
        if compiled is not None:  # as in a real one, where Sofa.Core is compiled
            del files["Sofa/Core.py"]
            files[f"Sofa/Core.{compiled}"] = ""
        files = {f"{below}/{file}": text for file, text in files.items()}
        files |= {f"lib/lib{plugin}.so": "" for plugin in plugins}
        if version:
            files[f"lib/libSofa.Core.so.{version}"] = ""
        for file, text in files.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        return root

    return make
