"""Monitor: files for Gnuplot."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


def test_a_line_of_each_file_at_the_end_of_each_step(root, tmp_path):
    root.addObject("MechanicalObject", position=[[0, 0, 0], [1 / 3, 2, 3]])
    root.addObject(
        "Monitor",
        fileName=str(tmp_path / "out"),
        indices=[1],
        ExportPositions=True,
        ExportVelocities=1,
        sizeFactor=2,
    )
    simulation.init(root)
    simulation.animateNSteps(root, 2, 0.5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out_v.txt", "out_x.txt"]
    assert (tmp_path / "out_x.txt").read_text().splitlines() == [
        "# Gnuplot File : positions of 1 particle(s) Monitored",
        "# 1st Column : time, others : particle(s) number 1 ",
        "0.5\t0.333333 2 3\t",
        "1\t0.333333 2 3\t",
    ]


def test_a_node_that_does_not_exist_is_an_error(root):
    root.addObject("MechanicalObject", position=[[0, 0, 0]])
    root.addObject("Monitor", indices=[1], ExportForces=True)
    with pytest.raises(SceneError, match="has node 1 in 'indices', but there are 1 nodes"):
        simulation.init(root)
