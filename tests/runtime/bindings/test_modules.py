"""`import Sofa` without SOFA, in fresh processes, and how light `import sofa_softctl` is."""

import os
import subprocess
import sys
import textwrap

import pytest

import sofa_softctl


def fresh(code, **environment):
    """What a new Python process says; SOFTCTL_BACKEND and SOFA_ROOT are unset unless given."""
    kept = {k: v for k, v in os.environ.items() if k not in ("SOFTCTL_BACKEND", "SOFA_ROOT")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def said(code, **environment):
    done = fresh(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    heavy = (
        "numpy scipy numba daqp proxsuite qpsolvers pluggy mcap meshio matplotlib typer rich Sofa"
    )
    found = said(
        f"""
        import sys, sofa_softctl
        print(*(name for name in {heavy.split()!r} if name in sys.modules))
        """
    )
    assert found == []


@pytest.mark.soak
def test_every_public_name_is_loaded_when_it_is_asked_for():
    code = """
        import sofa_softctl
        for name in sofa_softctl.__all__:
            assert getattr(sofa_softctl, name) is not None, name
        assert sorted(dir(sofa_softctl)) == sorted(sofa_softctl.__all__)
        print(*sofa_softctl.__all__)
    """
    assert said(code, SOFTCTL_BACKEND="embedded") == sofa_softctl.__all__


def test_a_name_that_is_not_public_is_refused():
    with pytest.raises(AttributeError, match="'sofa_softctl' has no attribute 'magic'"):
        _ = sofa_softctl.magic


@pytest.mark.soak
def test_a_scene_written_for_sofa_runs_in_a_fresh_process():
    code = """
        import sofa_softctl
        import Sofa
        import Sofa.Core
        import Sofa.Simulation
        import Sofa.SofaConstraintSolver
        import Sofa.constants
        import SofaRuntime
        from Sofa.Core import Controller, Node
        from Sofa.Simulation import animate

        SofaRuntime.importPlugin("Sofa.Component")
        root = Sofa.Core.Node("root")
        root.addObject("DefaultAnimationLoop")
        Sofa.Simulation.init(root)
        Sofa.Simulation.animateNSteps(root, 4, root.dt.value)
        Sofa.msg_info("nothing is shown")
        Sofa.Helper.msg_info("nothing is shown")
        print(root.time.value, Sofa.__version__, isinstance(root, Node))
    """
    assert said(code, SOFTCTL_BACKEND="embedded") == ["0.04", "25.06.00", "True"]


def test_the_modules_hold_what_scenes_use(Sofa):
    for name in ("Node", "Controller", "Data", "Base", "BaseObject", "Object", "ObjectFactory"):
        assert isinstance(getattr(Sofa.Core, name), type)
    names = "animate animateNSteps init initRoot load reset unload updateVisual initVisual"
    for name in (*names.split(), "initTextures"):
        assert callable(getattr(Sofa.Simulation, name))
    for name in ("info", "warning", "error", "deprecated"):
        assert callable(getattr(Sofa, f"msg_{name}"))
    assert Sofa.constants.Key.space == " "


def test_the_factory_answers_as_sofapython3s(Sofa):
    factory = Sofa.Core.ObjectFactory.getInstance()
    assert factory.getComponent("GenericConstraintSolver") is not None
    assert factory.getComponent("Nothing") is None
    assert "MechanicalObject" in [entry.className for entry in factory.components]


@pytest.mark.soak
def test_a_module_that_sofa_does_not_have_is_not_found():
    done = fresh("import sofa_softctl, Sofa.Nonsense", SOFTCTL_BACKEND="embedded")
    assert "ModuleNotFoundError: No module named 'Sofa.Nonsense'" in done.stderr


def test_messages_name_their_sender_and_level(Sofa, root, caplog):
    Sofa.msg_warning("a warning")
    Sofa.msg_error(root.addChild("arm"), "an error")
    Sofa.msg_deprecated("arm", "old")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "a warning"),
        ("ERROR", "[/arm] an error"),
        ("WARNING", "[arm] old"),
    ]


def test_repositories_of_paths(Sofa):
    import SofaRuntime

    repository = SofaRuntime.PluginRepository
    repository.addFirstPath("first")
    repository.addLastPath("last")
    assert repository.getFirstPath() == "first"
    repository.paths.clear()
    assert repository.getFirstPath() == ""


def test_every_module_of_sofa_that_examples_import_is_there(Sofa):
    import SofaRuntime
    from Sofa import SofaConstraintSolver, SofaDeformable, SofaLinearSolver, SofaLinearSystem
    from Sofa.Core import TaskScheduler
    from SofaRuntime import Timer

    assert SofaConstraintSolver.ConstraintSolverImpl.W
    assert SofaLinearSolver.MatrixLinearSolverCompressedRowSparseMatrixd.A
    assert SofaDeformable and SofaLinearSystem
    assert Timer is SofaRuntime.Timer
    assert TaskScheduler.GetHardwareThreadsCount() >= 1
    TaskScheduler.init(2)
    TaskScheduler.stop()


def test_a_scene_file_is_imported_as_a_module(Sofa, tmp_path):
    path = tmp_path / "part.py"
    path.write_text("def createScene(root):\n    root.addChild('part')\n")
    root = Sofa.Core.Node("root")
    Sofa.import_sofa_python_scene(str(path)).createScene(root)
    assert root.part.getPathName() == "/part"


def test_categories_of_components(Sofa, root):
    import SofaRuntime

    assert SofaRuntime.getCategories("MechanicalObject") == ["MechanicalState"]
    assert SofaRuntime.getCategories("OglModel") == ["VisualModel"]
    assert SofaRuntime.getCategories("MeshOBJLoader") == ["Loader"]
    assert SofaRuntime.getCategories("RequiredPlugin") == ["_Miscellaneous"]
    assert SofaRuntime.getCategories("Nothing") == []
    assert root.addObject("UniformMass", totalMass=1.0).getCategories() == ["Mass"]
