"""The hardware bridge: streams commands of actuators from a scene to motors and pumps."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "config.file": ["read_robot"],
        "config.robot": ["RobotConfig"],
        "device": ["Capabilities", "ChannelSetup", "Command", "Device", "Feedback"],
        "stream.client": ["Stream"],
        "stream.state": ["Sample", "Statistics", "StreamState"],
    },
)
