from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.bench.compare import Comparison
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.plots.comparison import save_comparison_plot


@pytest.fixture
def comparison():
    """Two states over four steps; one never deviates."""
    return Comparison(
        scene="scene.py",
        backends=("embedded", "SOFA"),
        dofs=6,
        steps=4,
        dt=0.01,
        size=2.0,
        deviation={"a.position": np.array([1e-15, 3e-14, 2e-14, 1e-14]), "b.position": np.zeros(4)},
        ms_per_step=(1.0, 4.0),
        phases=({"free motion": 1.0}, {"free motion": 3.5, "collision": 0.5}),
    )


@pytest.mark.processes
def test_the_plot_shows_every_state_and_every_phase(comparison, tmp_path, drawn, check_readable):
    path = tmp_path / "plot.svg"
    save_comparison_plot(path, comparison)
    check_readable(drawn[0])
    text = path.read_text()
    for word in ("a", "b", "free motion", "collision", "0.25 of SOFA's time"):
        assert f"<!-- {word} -->" in text


def test_a_plot_of_an_unknown_kind_is_refused(comparison, tmp_path):
    with pytest.raises(SoftctlError, match=r"needs a name in .png, .svg or .pdf, got '.*plot.jpg'"):
        save_comparison_plot(tmp_path / "plot.jpg", comparison)


@pytest.mark.processes
def test_of_many_states_the_largest_deviation_of_the_others_is_shown(
    comparison, tmp_path, drawn, check_readable
):
    """Twelve states do not fill the picture with twelve lines."""
    size = {f"part{k}.position": np.full(4, 1e-14 * (k + 1)) for k in range(12)}
    save_comparison_plot(tmp_path / "plot.png", replace(comparison, deviation=size))
    check_readable(drawn[0])
    texts = [text.get_text() for text in drawn[0].axes[0].get_legend().get_texts()]
    assert texts[0] == "part11" and texts[-1] == "5 others, the largest" and len(texts) == 8
    assert drawn[0].axes[0].lines[-1].get_ydata() == pytest.approx(np.full(4, 5e-14))
