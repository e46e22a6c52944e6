"""What a scene begins with."""

from stlib3.scene.contactheader import ContactHeader
from stlib3.scene.interaction import Interaction
from stlib3.scene.mainheader import MainHeader
from stlib3.scene.node import Node
from stlib3.scene.scene import Scene
from stlib3.scene.wrapper import Wrapper

__all__ = ["ContactHeader", "Interaction", "MainHeader", "Node", "Scene", "Wrapper"]
