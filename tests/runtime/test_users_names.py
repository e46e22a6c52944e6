from sofa_softctl.scene.backend.backend import find_backend

Sofa = find_backend("embedded").Sofa


class Greedy(Sofa.Core.Controller):
    """Uses attribute names that the runtime could want for itself."""

    def __init__(self, *args, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.node, self.data, self.links, self.context = "node", [1.0], {"a": 1}, "context"
        self.root, self.state, self.where, self.version = 1, 2, 3, 4
        self.steps = 0

    def onAnimateBeginEvent(self, event):
        self.steps += 1


def test_a_controller_may_call_its_attributes_what_it_likes():
    """As in SofaPython3, where the component behind a controller is no Python object."""
    root = Sofa.Core.Node("root")
    controller = root.addObject(Greedy(name="greedy"))
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    assert controller.steps == 1
    assert controller.data == [1.0]
    assert controller.context == "context"
    assert controller.getName() == "greedy"
    assert controller.getContext() is root
    assert controller.findData("name").value == "greedy"
