"""`softctl bench scaling`, `scenes` and `diff`."""

import json

import pytest

SCENE = """
def createScene(root):
    root.dt = 0.01
    node = root.addChild("node")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 2, 0]])
    node.addObject("UniformMass", totalMass=1.0)
"""
SCALING = "bench scaling --max-dofs 300 --max-rows 4 --max-contacts 3 --steps 5 --seconds 0.1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "fall.py").write_text(SCENE)
    (tmp_path / "scenes" / "helper.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.processes
def test_scaling_writes_results_table_and_plot(softctl, folder):
    words = [*SCALING.split(), "--no-sofa", "--plot", "s.png", "--out", "s.json", "--table", "s.md"]
    status, out, err = softctl(*words)
    assert status == 0, err
    cases = json.loads((folder / "s.json").read_text())["cases"]
    assert [case["name"] for case in cases] == [
        "beam, 297 DOFs",
        "4 cables",
        "0 contacts",
        "3 contacts",
    ]
    assert "297 DOFs" in out and "| beam, 297 DOFs | 297 | 4 |" in (folder / "s.md").read_text()
    assert (folder / "s.png").stat().st_size > 1000


@pytest.mark.processes
def test_scenes_of_the_folder_are_measured_and_compared(softctl, folder):
    status, out, err = softctl(
        *"bench scenes --no-sofa --steps 5 --seconds 0.1 --out new.json".split()
    )
    assert status == 0 and "fall" in out and "helper" not in out, err
    results = json.loads((folder / "new.json").read_text())
    assert [case["rows"] for case in results["cases"]] == [0]
    results["machine"]["cpu"] = "another one"
    results["cases"][0]["embedded"]["ms_median"] *= 0.5
    (folder / "old.json").write_text(json.dumps(results))
    status, out, _ = softctl("bench", "diff", "old.json", "new.json")
    assert status == 0 and "2.00" in out and "cpu: another one, now " in out
    assert softctl("bench", "diff", "old.json", "new.json", "--slower", 1.5)[0] == 1
    status, out, _ = softctl("bench", "diff", "new.json", "old.json", "--slower", 1.5, "--json")
    assert status == 0 and json.loads(out)["cases"]["fall"]["ratio"] == 0.5


@pytest.mark.processes
def test_a_scene_that_fails_ends_with_its_reason(softctl, folder):
    (folder / "bad.py").write_text("def createScene(root):\n    raise ValueError('no mesh')\n")
    status, out, _ = softctl(
        *"bench scenes bad.py scenes/fall.py --no-sofa --steps 5 --cpu".split()
    )
    assert (
        status == 1
        and "processor time" in out
        and "bad: Backend 'embedded': ValueError: no mesh" in out
    )


def test_wrong_command_lines_are_refused_before_the_work(softctl, folder):
    status, _, err = softctl(*SCALING.split(), "--plot", "s.txt")
    assert status == 2 and "A plot needs a name in .png, .svg or .pdf" in err
    (folder / "scenes" / "fall.py").unlink()
    status, _, err = softctl("bench", "scenes")
    assert status == 2 and "There is no scene in './scenes': name scene files." in err
    status, _, err = softctl("bench", "diff", "old.json", "new.json")
    assert status == 1 and "Cannot read 'old.json': No such file" in err
