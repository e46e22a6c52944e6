"""An underwater swimmer: ellipsoids joined by hinges in potential flow. See README.md."""

from softctl_swimmer.body import Hinge, Link, Swimmer, fish
from softctl_swimmer.flow.added_mass import added_mass_derivative, added_mass_of, raw_added_mass
from softctl_swimmer.flow.ellipsoid import ellipsoid_surface
from softctl_swimmer.flow.lamb import ellipsoid_added_mass
from softctl_swimmer.flow.potential import Flow, Solution
from softctl_swimmer.flow.surface import Surface, checked_surface
from softctl_swimmer.motion.connection import local_connection, prescribed_motion
from softctl_swimmer.motion.dynamics import (
    State,
    Step,
    at_rest,
    energy_of,
    euler_step,
    midpoint_step,
    state_with_velocity,
    velocity_of,
)
from softctl_swimmer.motion.inertia import FlowInertia, Inertia, IsolatedInertia

__all__ = [
    "Flow",
    "FlowInertia",
    "Hinge",
    "Inertia",
    "IsolatedInertia",
    "Link",
    "Solution",
    "State",
    "Step",
    "Surface",
    "Swimmer",
    "added_mass_derivative",
    "added_mass_of",
    "at_rest",
    "checked_surface",
    "ellipsoid_added_mass",
    "ellipsoid_surface",
    "energy_of",
    "euler_step",
    "fish",
    "local_connection",
    "midpoint_step",
    "prescribed_motion",
    "raw_added_mass",
    "state_with_velocity",
    "velocity_of",
]
