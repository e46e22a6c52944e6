"""`import stlib3`, `splib3`, `softrobots`, with and without the originals on the path."""

import importlib

import pytest

LIBRARIES = ("softrobots", "splib3", "stlib3")
EMBEDDED = {"SOFTCTL_BACKEND": "embedded", "SOFA_ROOT": "", "PYTHONPATH": ""}


def said(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_module_of_the_libraries_can_be_imported(fresh):
    code = """
        import sofa_softctl, importlib
        from sofa_softctl.runtime.bindings.stlib import finder

        here = finder._FOLDER
        files = [file.relative_to(here).with_suffix("").parts for file in here.glob("*/**/*.py")]
        for name in {*finder.PACKAGES, *(".".join(parts) for parts in files)}:
            name = name.removesuffix(".__init__")
            module = importlib.import_module(name)
            for entry in getattr(module, "__all__", ()):
                if not hasattr(module, entry):  # a module that stands in __all__
                    importlib.import_module(f"{name}.{entry}")
            print(name)
    """
    found = said(fresh(code, **EMBEDDED))
    assert {"stlib3.scene.mainheader", "splib3.numerics.quat", "softrobots.actuators"} <= set(found)


@pytest.mark.soak(keep=1)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("first", [False, True])
def test_the_original_is_taken_where_it_is_on_the_path(fresh, tmp_path, library, first):
    """Even where the embedded backend answers before an installed SOFA."""
    (tmp_path / library / "scene").mkdir(parents=True)
    (tmp_path / library / "__init__.py").write_text("who = 'original'\n")
    (tmp_path / library / "scene" / "__init__.py").write_text("")
    code = f"""
        import sofa_softctl
        from sofa_softctl.runtime.bindings import modules
        if {first}:
            modules.put_first()
        import Sofa
        import {library}.scene
        print({library}.who, {library}.scene.__file__.startswith({str(tmp_path)!r}))
    """
    settings = EMBEDDED | {"SOFTCTL_BACKEND": "auto", "PYTHONPATH": str(tmp_path)}
    assert said(fresh(code, **settings)) == ["original", "True"]


def test_ours_fill_in_for_the_original_that_is_missing(fresh, tmp_path):
    """softrobots needs stlib3 and splib3; the user has one of them."""
    (tmp_path / "splib3").mkdir()
    (tmp_path / "splib3" / "__init__.py").write_text("")
    code = """
        import sofa_softctl, splib3, stlib3
        print("bindings" in stlib3.__file__, "bindings" in splib3.__file__)
    """
    assert said(fresh(code, **EMBEDDED | {"PYTHONPATH": str(tmp_path)})) == ["True", "False"]


def test_the_finder_is_installed_once(fresh):
    code = """
        import sys
        import sofa_softctl
        from sofa_softctl.runtime.bindings import modules
        modules.install()
        modules.put_first()
        modules.install()
        print(*(type(finder).__name__ for finder in sys.meta_path if "softctl" in repr(finder)))
    """
    assert said(fresh(code, **EMBEDDED)) == ["Finder", "LibraryFinder"]


def test_importing_the_package_loads_no_library(fresh):
    code = "import sys, sofa_softctl; print(*({'stlib3', 'splib3', 'softrobots'} & {*sys.modules}))"
    assert said(fresh(code, **EMBEDDED)) == []


def test_a_module_that_a_library_does_not_have_is_not_found(fresh):
    done = fresh("import sofa_softctl, stlib3.nonsense", **EMBEDDED)
    assert "ModuleNotFoundError: No module named 'stlib3.nonsense': it is not part" in done.stderr
    assert "github.com/SofaDefrost/STLIB on PYTHONPATH" in done.stderr


@pytest.mark.parametrize(
    ("module", "advice"),
    [
        ("stlib.scene", "Write stlib3"),
        ("splib.animation", "Write splib3"),
        ("cosserat.cosserat", "plugin Cosserat, which the embedded runtime does not have"),
        ("SofaPython.Tools", "plugin SofaPython3"),
    ],
)
def test_a_module_that_nobody_has_says_what_is_meant(Sofa, module, advice):
    with pytest.raises(ModuleNotFoundError, match=advice):
        importlib.import_module(module)
