"""The hardware bridge: streams commands of actuators from a scene to motors and pumps."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "client.client": ["Stream"],
        "config.file": ["read_robot"],
        "config.robot": ["RobotConfig"],
        "course.state": ["Sample", "Statistics", "StreamState"],
        "device": ["Capabilities", "ChannelSetup", "Command", "Device", "Feedback"],
    },
)
