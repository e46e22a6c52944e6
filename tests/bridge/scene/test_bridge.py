from sofa_softctl import HardwareBridge
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.run import run


def test_x(bar, robot, tmp_path):
    session = bar(
        lambda scene: scene.root.addObject(
            HardwareBridge(name="bridge", root=scene.root, config=robot())
        )
    )
    with session.recording(tmp_path / "a.mcap"):
        summary, h = run(session, 60, close=True)
    print(summary.controllers)
    r = read_record(tmp_path / "a.mcap")
    print(r.channels.keys(), r.streams.keys())
    s = r.streams["bridge.robot.command"]
    for t, c, v in zip(s.time, s.clock, s.values):
        print(t, c, v)
    print(r.streams["bridge.robot.state"])
    print(r.channels["bridge.measured"][-3:], r.channels["bridge.age"][-3:], r.units)
    assert 0
