"""The hardware bridge: streams commands of actuators from a scene to motors and pumps."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "device": ["Capabilities", "ChannelSetup", "Command", "Device", "Feedback"],
    },
)
