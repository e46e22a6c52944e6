"""Lights: accepted, without effect."""

from __future__ import annotations

from sofa_softctl.runtime.components.visual.inert import Drawn, Inert
from sofa_softctl.runtime.core.data.types import Bool, Color, Int, Real, Reals, Vector


class LightManager(Inert):
    """Lights of a GUI."""

    enable = Bool(True, "Unused.")
    ambient = Color([0.0, 0.0, 0.0, 1.0], "Ambient light.")
    shadows = Bool(False, "Draw shadows.")
    softShadows = Bool(False, "Draw shadows with soft edges.")
    debugDraw = Bool(False, "Unused.")


class Light(Drawn):
    """What lights have in common."""

    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")
    shadowTextureSize = Int(0, "Unused.")
    drawSource = Bool(False, "Draw the light itself.")
    zNear = Real(0.0, "Nearest distance of shadows.", unit="length")
    zFar = Real(0.0, "Farthest distance of shadows.", unit="length")
    shadowsEnabled = Bool(True, "It casts shadows.")
    softShadows = Bool(False, "Its shadows have soft edges.")
    shadowFactor = Real(1.0, "Darkness of its shadows.")
    VSMLightBleeding = Real(0.05, "Unused.")
    VSMMinVariance = Real(0.001, "Unused.")
    textureUnit = Int(1, "Unused.")
    modelViewMatrix = Reals([0.0] * 16, "Unused.")
    projectionMatrix = Reals([0.0] * 16, "Unused.")


class DirectionalLight(Light):
    """Light from far away."""

    direction = Vector(3, [0.0, 0.0, -1.0], "Direction.")


class PositionalLight(Light):
    """Light from a point."""

    position = Vector(3, [-0.7, 0.3, 0.0], "Place.", unit="length")
    fixed = Bool(False, "It moves with the camera.")
    attenuation = Real(0.0, "Loss with distance.")


class SpotLight(PositionalLight):
    """A cone of light from a point."""

    direction = Vector(3, [0.0, 0.0, -1.0], "Direction, or with `lookat` the point that it hits.")
    cutoff = Real(30.0, "Half the opening of the cone.", unit="degree")
    exponent = Real(1.0, "Loss towards the edge of the cone.")
    lookat = Bool(False, "`direction` is a point.")
