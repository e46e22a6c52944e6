"""What the tests share: the embedded Sofa, and a small soft beam with or without cables."""

import importlib
import itertools
import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from sofa_softctl.cli.app import main
from sofa_softctl.qp.solvers import DENSE, SPARSE, register
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.scene.backend.backend import find_backend
from tests.real_time import pytest_runtest_protocol  # noqa: F401

os.environ.setdefault("SOFTCTL_COMPILE_PROCESSES", "0")  # every core has a test process already
LENGTH, WIDTH = 90.0, 20.0
"""Of the beam [mm]; it hangs along z, its clamp is at z = 0."""


@pytest.fixture(autouse=True)
def strict(request):
    """What a scene is warned of raises; tests of a scene as people bring it take `tolerant`."""
    if "tolerant" in request.fixturenames:
        yield
    else:
        with warnings_as_errors():
            yield


@pytest.fixture
def tolerant():
    """What a scene is warned of is a warning, as in `softctl run`."""


@pytest.fixture(scope="session")
def Sofa():
    """The module `Sofa` of the embedded runtime."""
    return find_backend("embedded").Sofa


@pytest.fixture
def root(Sofa):
    """An empty scene without gravity."""
    return Sofa.Core.Node("root", gravity=[0.0, 0.0, 0.0])


def box_of_tetrahedra(nx, ny, nz, size=(WIDTH, WIDTH, LENGTH)):
    """Positions (n, 3) of a regular grid, and six tetrahedra (m, 4) of positive volume a cell."""
    axes = [np.linspace(0.0, side, count) for side, count in zip(size, (nx, ny, nz), strict=True)]
    positions = np.array(list(itertools.product(*axes)))
    strides = (ny * nz, nz, 1)
    tetrahedra = []
    for cell in itertools.product(range(nx - 1), range(ny - 1), range(nz - 1)):
        for order in itertools.permutations(strides):
            path = np.cumsum([np.dot(cell, strides), *order])
            a, b, c, d = positions[path]
            if np.linalg.det([b - a, c - a, d - a]) < 0.0:
                path = path[[1, 0, 2, 3]]
            tetrahedra.append(path.tolist())
    return positions, np.array(tetrahedra)


def add_beam(
    root,
    counts=(2, 2, 4),
    *,
    cables=0,
    value_type="force",
    value=0.0,
    loop=None,
    linear_solver="SparseLDLSolver",
    **forces,
):
    """A soft beam under gravity, clamped at z = 0; with `cables` under FreeMotionAnimationLoop.

    Units: mm, kg, s. Objects: /beam/{ode,linear,mesh,dofs,mass,fem,clamp}, and for each cable
    /beam/cable_i/{dofs,cable,mapping}. Returns the node of the beam.
    """
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    constrained = bool(cables) or loop == "FreeMotionAnimationLoop"
    default = "FreeMotionAnimationLoop" if constrained else "DefaultAnimationLoop"
    root.addObject(loop or default, name="loop")
    if constrained:
        root.addObject(
            "GenericConstraintSolver", name="constraints", maxIterations=500, tolerance=1e-10
        )
    positions, tetrahedra = box_of_tetrahedra(*counts)
    beam = root.addChild("beam")
    beam.addObject(
        "EulerImplicitSolver", name="ode", rayleighMass=0.1, rayleighStiffness=0.02, **forces
    )
    beam.addObject(linear_solver, name="linear")
    beam.addObject(
        "TetrahedronSetTopologyContainer", name="mesh", position=positions, tetrahedra=tetrahedra
    )
    beam.addObject("MechanicalObject", name="dofs")
    beam.addObject("UniformMass", name="mass", totalMass=0.04)
    beam.addObject("TetrahedronFEMForceField", name="fem", youngModulus=400.0, poissonRatio=0.4)
    foot = np.flatnonzero(positions[:, 2] == 0.0)
    beam.addObject("FixedProjectiveConstraint", name="clamp", indices=foot)
    if constrained:
        beam.addObject("LinearSolverConstraintCorrection", name="correction")
    for i, x in enumerate(np.linspace(0.2, 0.8, cables) * WIDTH if cables else []):
        cable = beam.addChild(f"cable_{i}")
        points = [[x, WIDTH / 2, z] for z in (5.0, 45.0, 85.0)]
        cable.addObject("MechanicalObject", name="dofs", position=points)
        cable.addObject(
            "CableConstraint",
            name="cable",
            indices=[0, 1, 2],
            pullPoint=[x, WIDTH / 2, 0.0],
            valueType=value_type,
            value=[value],
        )
        cable.addObject("BarycentricMapping", name="mapping")
    return beam


@pytest.fixture(scope="session")
def box():
    """`box_of_tetrahedra(nx, ny, nz)`."""
    return box_of_tetrahedra


@pytest.fixture(scope="session")
def beam():
    """`add_beam(root, ...)`."""
    return add_beam


@pytest.fixture
def recorder(Sofa):
    """A class of controllers that keep the events they get, and the time and tip at each."""

    class Recorder(Sofa.Core.Controller):
        def __init__(self, *args, watch=lambda: None, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.watch = watch
            self.events = []

        def onEvent(self, event):
            self.events.append((event["type"], self.getContext().time.value, self.watch()))

    return Recorder


@pytest.fixture
def fresh():
    """fresh(code, **environment) -> the process that ran it, with SOFA as the environment says."""

    def run(code, **environment):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, **{key: str(value) for key, value in environment.items()}},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a plugin package: installed(code, name) makes its entry point."""

    def install(code, name="pretended"):
        (tmp_path / f"softctl_test_{name}.py").write_text(code)
        info = tmp_path / f"softctl_test_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: softctl-test-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[sofa_softctl]\n{name} = softctl_test_{name}\n")
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    for name in list(sys.modules):
        if name.startswith("softctl_test_"):
            del sys.modules[name]


@pytest.fixture
def softctl(monkeypatch, capsys):
    """Runs the command line in this process: softctl(*arguments) -> (status, out, err)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["softctl", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        return done.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def register_solver():
    """`register`, undone after the test."""
    with DENSE.kept(), SPARSE.kept():
        yield register


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were written, in order."""
    from matplotlib.figure import Figure

    figures, save = [], Figure.savefig

    def kept(figure, *arguments, **options):
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    return figures


@pytest.fixture
def check_readable():
    """check_readable(figure): fails where an axis has no unit, or a legend covers data."""
    return _check_readable


def _check_readable(figure):
    """Units on axes, but for numbers of iterations; legends beside the data, nothing clipped."""
    figure.canvas.draw()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert shown
    for axes in shown:
        for label in (axes.get_xlabel(), axes.get_ylabel()):
            assert not label or label.startswith("iteration") or re.search(r"\[.+\]", label), (
                f"no unit in '{label}'"
            )
        if axes.get_legend() is None:
            continue
        legend, panel = axes.get_legend().get_window_extent(), axes.get_window_extent()
        outside = legend.x0 >= panel.x1 - 1.0 or legend.y0 >= panel.y1 - 1.0
        assert outside, f"a legend covers the data of '{axes.get_ylabel()}'"
        assert figure.bbox.x1 + 1.0 >= legend.x1 and figure.bbox.y1 + 1.0 >= legend.y1, "clipped"
        title = axes.get_title(loc="left")
        if title:
            text = axes._left_title.get_window_extent()
            assert not (legend.overlaps(text) and legend.y0 >= panel.y1 - 1.0), "title, legend"


# What nohup and shells in the background ignore is inherited by the processes of the tests.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


REASONS = ("study", "real_time", "processes", "soak")
"""Marks of tests that only `make test-all` runs; pyproject.toml says what they mean."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as `quick` what has no reason to be slow, and the first `keep` cases of what has one."""
    cases = {}
    for item in items:
        marks = [mark for mark in item.iter_markers() if mark.name in REASONS]
        keep = min((mark.kwargs.get("keep", 0) for mark in marks), default=None)
        function = item.nodeid.partition("[")[0]
        cases[function] = cases.get(function, 0) + 1
        if keep is None or cases[function] <= keep:
            item.add_marker("quick")
