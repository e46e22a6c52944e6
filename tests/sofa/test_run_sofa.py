"""The program runSofa: the same motion, parameters, errors."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl import Session

HERE = Path(__file__).parent
TRUNK = HERE.parents[1] / "scenes" / "trunk.py"


@pytest.fixture
def recorded(run_sofa, tmp_path, monkeypatch):
    """Runs the trunk in runSofa: recorded(steps, *argv) -> what stands in the file then."""

    def run(steps, *argv):
        monkeypatch.setitem(run_sofa.environment, "RECORDED", str(tmp_path / "last.npz"))
        said = run_sofa(HERE / "recorded.py", steps, *argv)
        assert (tmp_path / "last.npz").exists(), said[-3000:]
        with np.load(tmp_path / "last.npz") as file:
            return dict(file)

    return run


def test_runsofa_moves_as_the_embedded_runtime(recorded):
    """200 steps; 1e-12 of the size as for a session on SOFA. runSofa's batch does one step more."""
    found = recorded(200)
    session = Session(TRUNK, backend="embedded")
    session.step(int(found["step"]))
    expected = session.positions()["trunk/dofs.position"]
    assert found["step"] >= 200
    assert np.abs(found["position"] - expected).max() <= 1e-12 * 195.0


def test_parameters_reach_a_scene_in_runsofa(recorded):
    found = recorded(20, "path=point", "radius=7.5", "lower=2")
    np.testing.assert_allclose(found["goal"], [[7.5, 0.0, 193.0]], atol=1e-12)


def test_a_wrong_parameter_is_told_with_the_known_ones(run_sofa):
    said = run_sofa(TRUNK, 2, "radus=7.5")
    assert "The scene takes no parameter 'radus'. Did you mean 'radius'?" in said


def test_our_scenes_name_every_plugin_that_they_need(run_sofa):
    """SOFA checks a scene and suggests what is missing, or superfluous."""
    ours_alone = "rolling_ball.py"  # SOFA has no forward YoungModulusActuator
    for scene in sorted(set(TRUNK.parent.glob("*.py")) - {TRUNK.with_name(ours_alone)}):
        said = run_sofa(scene, 2)
        assert "# Needed to use components" not in said
        assert "No component has been registered" not in said
        assert "[ERROR]" not in said
