"""Python engines: outputs follow inputs when they are read."""

import pytest

from sofa_softctl.errors import SceneError


@pytest.fixture
def Doubler(Sofa):
    class Doubler(Sofa.Core.DataEngine):
        def __init__(self, *args, **kwargs):
            Sofa.Core.DataEngine.__init__(self, *args, **kwargs)
            self.updates = 0
            for name in ("input", "output"):
                self.addData(name, type="vector<double>", value=[1.0])
            self.addInput(self.input)
            self.addOutput(self.output)

        def update(self):
            self.updates += 1
            self.output.value = 2.0 * self.input.value

    return Doubler


def test_outputs_are_computed_when_they_are_read_and_only_after_a_change(root, Doubler):
    engine = root.addObject(Doubler(name="engine"))
    assert engine.updates == 0
    assert engine.output.toList() == engine.output.toList() == [[2.0]]
    assert engine.updates == 1
    with engine.input.writeable() as values:
        values[0] = 4.0
    assert engine.output.toList() == [[8.0]]
    assert engine.updates == 2


def test_engines_feed_each_other(root, Doubler):
    first = root.addObject(Doubler(name="first"))
    second = root.addObject(Doubler(name="second"))
    second.input.setParent(first.output)
    assert second.output.toList() == [[4.0]]
    first.input.value = [3.0]
    assert second.output.toList() == [[12.0]]


def test_an_engine_without_update_says_so(Sofa, root):
    engine = root.addObject(Sofa.Core.DataEngine(name="engine"))
    engine.addOutput(engine.addData("output", type="double", value=0.0))
    with pytest.raises(SceneError, match=r"DataEngine '/engine' is a DataEngine without a method"):
        _ = engine.output.value
