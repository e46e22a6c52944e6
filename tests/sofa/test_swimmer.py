"""The swimmer of plugins/swimmer, in SOFA and in the embedded runtime."""

from pathlib import Path

import numpy as np
import pytest

PLUGIN = Path(__file__).parents[2] / "plugins" / "swimmer"
SCENE = PLUGIN / "scenes" / "swim.py"
STEPS = 30
PROGRAM = f"""
sys.path.insert(0, {str(PLUGIN)!r})
found = {{}}
for body in ("fish", "eel"):
    with Session({str(SCENE)!r}, parameters={{"body": body, "vertices": 42}}) as run:
        run.step({STEPS})
        links = run.root.body
        found[body] = [links.dofs.position.value, links.skin.dofs.position.value]
result(found)
"""


@pytest.fixture(scope="module")
def here(embedded):
    return embedded(PROGRAM)


@pytest.mark.soak
def test_it_swims_and_its_skin_follows(here):
    """A wave moves link 0; skins of 42 vertices keep their distance from their link's centre."""
    for links, skin in here.values():
        frames, points = np.array(links), np.array(skin).reshape(len(links), 42, 3)
        assert np.linalg.norm(frames[0, :3]) > 0.005
        centres = points.mean(axis=1)
        assert centres == pytest.approx(frames[:, :3], abs=1e-3)


def test_links_and_skins_go_in_sofa_where_they_go_here(in_sofa, here):
    """The flow is the plugin's in both; SOFA holds frames and maps the skin: to rounding."""
    found, _ = in_sofa(PROGRAM)
    for body, (links, skin) in here.items():
        for mine, other in zip((links, skin), found[body], strict=True):
            assert np.array(mine) == pytest.approx(np.array(other), abs=1e-12)
