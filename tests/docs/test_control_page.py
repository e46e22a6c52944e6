"""The page on inverse control: its scene reaches its goal, its table is what the trunk does."""

import re

import numpy as np
import pytest

from sofa_softctl import Session
from tests.docs.pages import ROOT, blocks, text

PAGE = "how-to/control-a-robot"
ROWS = re.findall(r"^\| ([\de-]+)(?: \(default\))? \| ([\d.]+) mm \| ([\d,]+) mN", text(PAGE), re.M)


def test_the_scene_of_the_page_reaches_its_goal(tmp_path):
    (tmp_path / "meshes").symlink_to(ROOT / "scenes" / "meshes")
    code = "\n".join([*blocks("tutorial/first-scene")[:2], *blocks(PAGE)])
    (tmp_path / "finger.py").write_text(code)
    session = Session(tmp_path / "finger.py", backend="embedded")
    session.step(100)
    inverse = session.root.inverse
    assert inverse.error.value[0] == pytest.approx(0.289, abs=5e-4)
    assert session.units.symbol("force") == "mN"


@pytest.mark.processes
@pytest.mark.parametrize("row", [row for row in ROWS if row[0] in ("0", "1e-4", "1e-2")])
def test_the_table_of_energies_holds(row):
    """To the digits of the page: an error is rounded to one digit."""
    energy, error, tension = float(row[0]), float(row[1]), float(row[2].replace(",", ""))
    scene = ROOT / "scenes" / "trunk.py"
    session = Session(scene, backend="embedded", parameters={"energy": energy})
    inverse = session.root.inverse
    errors, tensions = [], []
    for _ in range(450):
        session.step()
        errors.append(float(inverse.error.value[0]))
        tensions.append(float(np.sum(inverse.effort.value)))
    assert np.mean(errors) == pytest.approx(error, rel=0.1, abs=1e-5)
    assert np.mean(tensions) == pytest.approx(tension, rel=1e-3)


def test_all_rows_of_the_table_were_found():
    assert len(ROWS) == 6
