"""A run imports what its scene needs."""

from pathlib import Path

SCENE = Path(__file__).parents[2] / "scenes" / "finger.py"
RUN = f"""
    import sys
    sys.argv = ["softctl", "run", {str(SCENE)!r}, "--steps", "1", "--quiet"]
    from sofa_softctl.cli.app import main
    try:
        main()
    except SystemExit:
        print(*sys.modules)
"""
MOST = 250
"""Modules of ours; with all components, commands and the bridge they were 571."""
UNUSED = ("scipy.optimize", "scipy.spatial", "scipy.stats", "matplotlib", "mcap", "qpsolvers")


def test_a_run_of_the_finger_imports_few_modules(fresh):
    done = fresh(RUN, SOFTCTL_PLUGINS="0", SOFTCTL_BACKEND="embedded")
    modules = done.stdout.splitlines()[-1].split()
    ours = [name for name in modules if name.partition(".")[0] == "sofa_softctl"]
    assert len(ours) <= MOST
    assert not [name for name in ours if name.startswith("sofa_softctl.bridge")]
    assert not [name for name in UNUSED if name in modules]
