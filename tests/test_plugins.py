"""Plugins: real, tiny ones, registered in the tests."""

import importlib
import inspect
import os
import subprocess
import sys
import textwrap
from contextlib import ExitStack

import pytest

import sofa_softctl
from sofa_softctl import hookimpl, hooks
from sofa_softctl.errors import PluginError
from sofa_softctl.offers import CONTROLLERS, HOOKS, REGISTRIES, registry_of
from sofa_softctl.plugins import Plugins, controller, plugins
from sofa_softctl.qp import solvers as qp_solvers
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import types as data_types


@pytest.fixture
def fresh():
    """A manager of its own; what plugins put into the registries is taken out, before and after."""
    with ExitStack() as stack:
        for kind in REGISTRIES:
            registry = registry_of(kind)
            stack.enter_context(registry.kept())
            for table in (registry._added, registry._plugins):
                table.clear()
        yield Plugins()


class Follower(sofa_softctl.SceneController):
    """A controller that does nothing."""


class Balloon(Component):
    """A balloon."""

    pressure = data_types.Real(1.0, "Pressure.")


def solve_nothing(qp, warm):
    raise AssertionError("never called")


class Controllers:
    def __init__(self, *names):
        self.names = names

    @hookimpl
    def softctl_register_controllers(self, register):
        for name in self.names:
            register(name, Follower)


class Components:
    @hookimpl
    def softctl_register_components(self, register):
        register(Balloon)


class QPSolvers:
    def __init__(self, name):
        self.name = name

    @hookimpl
    def softctl_register_qp_solvers(self, register):
        register(self.name, solve_nothing)
        register(self.name, solve_nothing, sparse=True)


# -- what plugins bring --------------------------------------------------------------------------


def test_a_plugin_brings_controllers(fresh):
    fresh.add(Controllers("follower", "leader"), "mine")
    assert fresh.names == ["built-in", "mine"]
    built_in = ["bridge", "identification", "inverse", "library", "policy", "surrogate"]
    assert sorted(CONTROLLERS.names()) == sorted([*built_in, "follower", "leader"])
    assert CONTROLLERS.plugin_of("follower") == "mine"
    assert CONTROLLERS.find("follower") is Follower


def test_a_controller_may_be_loaded_when_it_is_needed(fresh):
    class Lazy:
        @hookimpl
        def softctl_register_controllers(self, register):
            register("lazy", lambda: Follower)

    fresh.add(Lazy(), "lazy")
    assert CONTROLLERS.find("lazy") is Follower


def test_a_plugin_brings_components(fresh, root):
    fresh.add(Components(), "mine")
    assert root.addObject("Balloon", pressure="2").pressure.value == 2.0


def test_a_plugin_brings_qp_solvers(fresh):
    fresh.add(QPSolvers("mine"), "mine")
    assert qp_solvers.find("mine") is qp_solvers.find("mine", sparse=True) is solve_nothing


def test_the_built_in_controllers_are_found_by_name():
    assert plugins().names[0] == "built-in"
    assert CONTROLLERS.plugin_of("inverse") == ""
    assert controller("inverse").__name__ == "InverseController"
    with pytest.raises(PluginError, match=r"There is no controller 'invers'\. .*Known: .*inverse"):
        controller("invers")


# -- what cannot be ------------------------------------------------------------------------------


def test_a_controller_of_a_name_that_is_taken_names_both_plugins(fresh):
    fresh.add(Controllers("follower"), "mine")
    message = "Plugins 'mine' and 'yours' both register a controller 'follower'. Rename one"
    with pytest.raises(PluginError, match=message):
        fresh.add(Controllers("leader", "follower"), "yours")
    with pytest.raises(PluginError, match="Plugins 'built-in' and 'third' both register"):
        fresh.add(Controllers("inverse"), "third")
    assert fresh.names == ["built-in", "mine"]
    assert sorted(CONTROLLERS.names()) == [
        "bridge",
        "follower",
        "identification",
        "inverse",
        "library",
        "policy",
        "surrogate",
    ]  # nothing of the newcomers


def test_a_component_of_a_name_that_is_taken_names_both_plugins(fresh):
    fresh.add(Components(), "mine")

    class Other(Components):
        @hookimpl
        def softctl_register_components(self, register):
            register(type("Whistle", (Component,), {"__doc__": "A whistle."}))
            register(type("Balloon", (Component,), {"__doc__": "Another balloon."}))

    message = "Plugins 'mine' and 'yours' both register a component 'Balloon'. Rename one of them"
    with pytest.raises(PluginError, match=message):
        fresh.add(Other(), "yours")
    assert factory.find("Balloon") is Balloon
    assert factory.find("Whistle") is None

    class BuiltIn:
        @hookimpl
        def softctl_register_components(self, register):
            register(type("UniformMass", (Component,), {"__doc__": "Another mass."}))

    message = "Plugins 'built-in' and 'yours' both register a component 'UniformMass'"
    with pytest.raises(PluginError, match=message):
        fresh.add(BuiltIn(), "yours")


def test_a_qp_solver_of_a_name_that_is_taken_names_both_plugins(fresh):
    fresh.add(QPSolvers("mine"), "mine")
    with pytest.raises(PluginError, match="Plugins 'mine' and 'yours' both register a QP solver"):
        fresh.add(QPSolvers("mine"), "yours")
    with pytest.raises(PluginError, match="Plugins 'built-in' and 'yours' both register a QP solv"):
        fresh.add(QPSolvers("daqp"), "yours")


def test_a_misspelt_hook_is_told_with_the_known_ones(fresh):
    class Misspelt:
        @hookimpl
        def softctl_register_controler(self, register):
            pass

    message = (
        r"Plugin 'mine': there is no hook 'softctl_register_controler'. "
        r"Did you mean .softctl_register_controllers.\? "
        r"Hooks: softctl_register_components\(register\), softctl_register_controllers\("
    )
    with pytest.raises(PluginError, match=message):
        fresh.add(Misspelt(), "mine")
    fresh.add(Controllers("follower"), "mine")  # the name is free again


def test_a_hook_with_other_arguments_is_told(fresh):
    class Wrong:
        @hookimpl
        def softctl_register_controllers(self, registry):
            pass

    with pytest.raises(PluginError) as caught:
        fresh.add(Wrong(), "mine")
    assert "Plugin 'mine' cannot be used" in str(caught.value)
    assert "'registry'" in str(caught.value)
    assert fresh.names == ["built-in"]


def test_the_same_plugin_again_is_refused_and_the_first_one_stays(fresh):
    plugin = Controllers("follower")
    fresh.add(plugin, "mine")
    for again, name in ((plugin, "mine"), (plugin, "other"), (Controllers("x"), "mine")):
        with pytest.raises(PluginError, match="is there already"):
            fresh.add(again, name)
    assert fresh.names == ["built-in", "mine"]
    assert CONTROLLERS.plugin_of("follower") == "mine"


@pytest.mark.parametrize("thing", [3, None, "Follower"])
def test_a_controller_must_be_a_class_or_a_function_that_gives_one(fresh, thing):
    class Wrong:
        @hookimpl
        def softctl_register_controllers(self, register):
            register("wrong", thing)

    with pytest.raises(PluginError, match=r"Plugin 'mine': controller 'wrong' must be a class or"):
        fresh.add(Wrong(), "mine")

    class Late:
        @hookimpl
        def softctl_register_controllers(self, register):
            register("late", lambda: thing)

    fresh.add(Late(), "late")
    with pytest.raises(PluginError, match=r"Plugin 'late': controller 'late' must be a subc.*got"):
        CONTROLLERS.find("late")


def test_a_component_must_be_a_component(fresh):
    class Wrong:
        @hookimpl
        def softctl_register_components(self, register):
            register(Controllers)

    with pytest.raises(
        PluginError, match=r"Plugin 'mine': 'Controllers' is no subclass of Component"
    ):
        fresh.add(Wrong(), "mine")


def test_an_error_of_the_plugin_itself_comes_out_as_it_is(fresh):
    class Failing:
        @hookimpl
        def softctl_register_controllers(self, register):
            int("x")

    with pytest.raises(ValueError, match="invalid literal"):
        fresh.add(Failing(), "mine")
    assert fresh.names == ["built-in"]


# -- files and entry points ----------------------------------------------------------------------

PLUGIN = """
from sofa_softctl import SceneController, hookimpl

class Follower(SceneController):
    pass

@hookimpl
def softctl_register_controllers(register):
    register("from_file", Follower)
"""


def test_a_plugin_may_be_a_file(fresh, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    fresh.add_file(path)
    assert CONTROLLERS.plugin_of("from_file") == str(path)
    with pytest.raises(PluginError, match="is there already"):
        fresh.add_file(path)


def test_the_package_of_a_plugin_file_can_be_imported(fresh, tmp_path, monkeypatch):
    """As a scene imports what comes with the plugin."""
    package = tmp_path / "project" / "robot_arms"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("LENGTH = 0.3\n")
    (package / "plugin.py").write_text(PLUGIN)
    monkeypatch.setattr(sys, "path", [*sys.path])
    fresh.add_file(package / "plugin.py")
    assert importlib.import_module("robot_arms").LENGTH == 0.3
    del sys.modules["robot_arms"]


def test_a_file_that_is_missing_or_no_python_is_told(fresh, tmp_path):
    with pytest.raises(PluginError, match=r"There is no plugin file '.*none\.py'"):
        fresh.add_file(tmp_path / "none.py")
    (tmp_path / "plugin.txt").write_text(PLUGIN)
    with pytest.raises(PluginError, match=r"plugin\.txt' is not a Python file \(\.py\)"):
        fresh.add_file(tmp_path / "plugin.txt")


def test_an_error_in_a_plugin_file_is_its_own(fresh, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("x = 1\ny = x / 0\n")
    with pytest.raises(ZeroDivisionError) as caught:
        fresh.add_file(path)
    assert caught.traceback[-1].path == path
    assert caught.traceback[-1].lineno + 1 == 2
    assert "softctl_plugin_broken" not in sys.modules


def test_plugins_of_installed_packages_are_found(fresh, installed):
    installed(PLUGIN)
    fresh.load_entry_points()
    assert CONTROLLERS.plugin_of("from_file") == "pretended"


def test_a_variable_switches_them_off(fresh, installed, monkeypatch):
    installed("raise RuntimeError('must not be imported')")
    monkeypatch.setenv("SOFTCTL_PLUGINS", "0")
    fresh.load_entry_points()
    assert fresh.names == ["built-in"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import softctl_nothing", "No module named 'softctl_nothing'"),
        ("raise RuntimeError('no licence')", "no licence"),
        (
            PLUGIN.replace("register_controllers", "register_controler"),
            "no hook 'softctl_register_controler'",
        ),
        (PLUGIN.replace("from_file", "inverse"), "'built-in' and 'pretended' both register"),
    ],
)
def test_an_installed_plugin_that_fails_is_named_with_the_way_out(fresh, installed, code, message):
    installed(code)
    with pytest.raises(PluginError) as caught:
        fresh.load_entry_points()
    text = str(caught.value)
    assert "pretended" in text
    assert message in text
    assert text.endswith("Uninstall 'softctl-test-pretended', or set SOFTCTL_PLUGINS=0.")


WHISTLE = """
from sofa_softctl import hookimpl
from sofa_softctl.runtime.core.component import Component

class Whistle(Component):
    "A whistle."

@hookimpl
def softctl_register_components(register):
    register(Whistle)
"""
FROM_PYTHON = "from sofa_softctl import Session; Session({scene!r}, backend='embedded').step()"


@pytest.mark.processes
@pytest.mark.parametrize("how", ["command line", "Python"])
def test_components_of_installed_plugins_are_known_to_a_run(how, installed, tmp_path):
    """Nobody names the plugin: the contract says that components are known to every scene."""
    installed(WHISTLE)
    scene = tmp_path / "scene.py"
    scene.write_text("def createScene(root):\n    root.addObject('Whistle')\n")
    if how == "Python":
        command = [sys.executable, "-c", FROM_PYTHON.format(scene=str(scene))]
    else:
        command = [sys.executable, "-m", "sofa_softctl.cli", "run", str(scene), "--steps", "1"]
        command += ["-q", "--backend", "embedded"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "SOFTCTL_PLUGINS": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


FIND = """
import sofa_softctl
from sofa_softctl.runtime.core import factory
for _ in range(2):
    try:
        print(factory.find("VisualStyle").__module__)
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.processes
def test_an_installed_plugin_does_not_replace_a_built_in_component(installed, tmp_path):
    installed(WHISTLE.replace("Whistle", "VisualStyle"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "SOFTCTL_PLUGINS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FIND],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("PluginError The plugin 'pretended' that is installed cannot be used:")
    assert second == "sofa_softctl.runtime.components.visual.inert"


# -- the contract --------------------------------------------------------------------------------


def hook_functions():
    return [value for name, value in vars(hooks).items() if name.startswith("softctl_")]


def test_every_hook_is_called():
    assert set(HOOKS) == {hook.__name__ for hook in hook_functions()}


@pytest.mark.parametrize("hook", hook_functions(), ids=lambda hook: hook.__name__)
def test_every_hook_is_an_empty_function_that_says_when_it_is_called(hook):
    doc = inspect.getdoc(hook)
    assert doc.split("\n")[0].endswith(".")
    assert "Called once" in doc
    assert "register(" in doc
    source = textwrap.dedent(inspect.getsource(hook))
    assert source.rstrip().endswith('"""')
    assert hook(*[None] * len(inspect.signature(hook).parameters)) is None
