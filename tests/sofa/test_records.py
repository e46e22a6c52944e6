"""Recordings, clean-up and Ctrl-C in SOFA itself, as in the embedded runtime."""

import pytest

CODE = """
import signal, tempfile
import Sofa
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.control.controller import SceneController

calls = []

class Plain(Sofa.Core.Controller):
    def __init__(self, *args, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.steps = 0
        self.addData(name="gain", value=0.5, type="double", help="Gain.", group="Own")
        self.addData(name="count", value=3, type="int", help="How many.", group="Own")
        self.addData(name="said", value="yes", type="string", help="Text.", group="Own")
    def onAnimateBeginEvent(self, event):
        self.steps += 1
        self.gain.value = float(self.steps)
        if self.steps == 3:
            {line}
    def cleanup(self):
        calls.append("plain")

class Outputs(SceneController):
    def __init__(self, **options):
        super().__init__(**options)
        self.add_output("mode", "rest", "What it does.")
        self.add_output("angle", [0.0, 1.0], "Of the motors.")
    def cleanup(self):
        calls.append("outputs")
        raise ValueError("the port")

def createScene(root, size=2.0):
    root.dt = 0.01
    root.addObject("RequiredPlugin", pluginName="Sofa.Component.AnimationLoop")
    root.addObject("RequiredPlugin", pluginName="Sofa.Component.StateContainer")
    root.addObject("DefaultAnimationLoop")
    root.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, size]])
    root.addObject(Plain(name="plain"))
    root.addObject(Outputs(name="outputs", root=root))

path = tempfile.mkdtemp() + "/run.mcap"
how = "ended"
try:
    with Session(createScene) as session:
        with session.recording(path):
            session.step(5)
except BaseException as error:
    how = type(error).__name__ + ": " + str(error)
record = read_record(path)
result({{
    "how": how,
    "calls": calls,
    "status": record.status,
    "steps": len(record.time),
    "channels": {{name: values.tolist()[0] for name, values in record.channels.items()}},
    "gains": record.channels["plain.gain"].tolist(),
    "size": record.metadata["parameter.size"],
    "sofa": record.metadata.get("sofa", ""),
}})
"""
# An error of a clean-up tells more than Ctrl-C, so it is the one that is raised.
ENDS = {
    "end": ("pass", "ValueError: the port", "complete", 5),
    "error": ("raise RuntimeError('mine')", "RuntimeError: mine", "stopped: RuntimeError: mine", 2),
    "Ctrl-C": ("os.kill(os.getpid(), signal.SIGINT)", "ValueError: the port", "interrupted", 3),
}


@pytest.mark.parametrize("end", ENDS)
def test_records_and_clean_up_are_the_same_on_both_backends(in_sofa, embedded, end):
    line, how, status, steps = ENDS[end]
    code = CODE.format(line=line)
    found, said = in_sofa(code)
    assert found["sofa"]
    expected = embedded(code)
    assert found | {"sofa": ""} == expected
    assert (expected["how"], expected["status"], expected["steps"]) == (how, status, steps)
    assert expected["calls"] == ["plain", "outputs"]
    assert expected["gains"] == [1.0, 2.0, 3.0, 4.0, 5.0][:steps]
    assert expected["size"] == "2.0"
    assert expected["channels"] == {
        "dofs.position": [[0.0, 0.0, 2.0]],
        "plain.gain": 1.0,
        "plain.count": 3.0,
        "plain.said": "yes",
        "outputs.mode": "rest",
        "outputs.angle": [0.0, 1.0],
    }
    assert "cleanup() failed at" in said
