"""Output Data of inverse control: declaration, recording, and values of each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.qpcc.problem.modes import Mode
from sofa_softctl.scene.control.contacts import CONTACTS_MAX
from sofa_softctl.scene.control.report import Markers
from sofa_softctl.scene.control.units import ActuatorQuantities
from sofa_softctl.units import together

if TYPE_CHECKING:
    from sofa_softctl.inverse.aspects.aspect import ControlStep

RECORDED: dict[str, tuple[str, str]] = {
    "effort": ("force", "Effort of each actuator"),
    "displacement": ("length", "Length pulled in of each cable, growth of each chamber"),
    "goal": ("length", "Goal of each effector"),
    "tip": ("length", "Position of each effector"),
    "error": ("length", "Distance of each effector to its goal, along the axes with a weight"),
}
"""Quantity and meaning of the Data in every recording of cables, see `scene.channels`."""
RECORDED_CONTACTS: dict[str, tuple[Any, ...]] = {
    "contact_point": ("length", "Position of each contact", CONTACTS_MAX),
    "contact_force": ("force", "Force of each contact on the second body", CONTACTS_MAX),
    "contact_normal": ("force", "Normal force of each contact", CONTACTS_MAX),
    "contact_slide": ("length", "Slip of each contact in the step", CONTACTS_MAX),
    "contact_mode": ("", "0 inactive, 1 sticking, 2 sliding", CONTACTS_MAX),
    "gap": ("", "(objective - bound) / objective of the step; 0 without contacts"),
    "pieces": ("", "Pieces of the problem that were solved"),
}
"""Quantity and meaning of the Data of contacts, in scenes that find them."""
TEXTS = {
    "status": "Status of the last step's solution.",
    "look_ahead": "Candidate that the last look-ahead chose, or that none helps.",
}
"""Help of the Data that are texts."""
MODES = list(Mode)
"""Modes by their number in `contact_mode`."""
_CONTACT_DATA = tuple(name for name in RECORDED_CONTACTS if name.startswith("contact_"))


def recorded_data(quantities: Sequence[ActuatorQuantities]) -> dict[str, tuple[str, str]]:
    """Return RECORDED with the quantities of each actuator."""
    efforts, displacements = map(together, zip(*quantities, strict=True))
    return RECORDED | {
        "effort": (efforts, RECORDED["effort"][1]),
        "displacement": (displacements, RECORDED["displacement"][1]),
    }


def add_data(controller: Any, actuators: int, effectors: int) -> None:
    """Add the output Data to a controller, for its numbers of actuators and effectors."""
    values = {
        "effort": np.zeros(actuators),
        "displacement": np.zeros(actuators),
        "goal": np.zeros((effectors, 3)),
        "tip": np.zeros((effectors, 3)),
        "error": np.zeros(effectors),
        "contact_point": np.empty((0, 3)),
        "contact_force": np.empty((0, 3)),
        "contact_normal": np.empty(0),
        "contact_slide": np.empty(0),
        "contact_mode": np.empty(0),
        "gap": np.zeros(1),
        "pieces": np.zeros(1),
    }
    for name, value in values.items():
        unit, meaning, *_ = (controller.recorded | RECORDED_CONTACTS)[name]
        controller.add_output(name, value, f"{meaning} [{unit}]." if unit else f"{meaning}.")
    for name, meaning in TEXTS.items():
        controller.add_output(name, "", meaning)


def reset_data(outputs: dict[str, Any]) -> None:
    """Reset all Data."""
    for name, data in outputs.items():
        if name in _CONTACT_DATA:
            data.value = []
        elif name in TEXTS:
            data.value = ""
        else:
            data.value = np.zeros_like(np.asarray(data.value))


def write_solution(controller: Any, step: ControlStep) -> None:
    """Write efforts, displacements and status of a solved step to the Data of its controller."""
    controller.write_output("effort", step.effort)
    controller.write_output("displacement", step.displacement)
    outputs, status = controller.outputs, step.status
    if status is not None and status is not step.status_before:
        outputs["status"].value = status.name


def write_contacts(controller: Any, step: ControlStep) -> None:
    """Write the contacts of a solved step, or that there are none, and set their numbers in it.

    Args:
        controller: The controller that has the Data.
        step: The step.
    """
    solution, contacts, outputs = step.solution, step.contacts, controller.outputs
    assert solution is not None
    outputs["gap"].value = [solution.gap if solution.modes else 0.0]
    outputs["pieces"].value = [float(solution.pieces)]
    if contacts is None:
        for name in _CONTACT_DATA:
            outputs[name].value = []
        return
    step.normal = contacts.normal_part(solution.contact_force)
    step.slide = contacts.tangential_size(solution.contact_gap) * (step.normal > 0.0)
    values = {
        "contact_point": np.array([contact.point for contact in contacts.contacts]),
        "contact_force": contacts.as_vectors(solution.contact_force),
        "contact_normal": step.normal,
        "contact_slide": step.slide,
        "contact_mode": np.array([MODES.index(mode) for mode in solution.modes], dtype=float),
    }
    for name, value in values.items():
        controller.write_output(name, value)


def markers(outputs: dict[str, Any]) -> Markers:
    """Return markers for a movie."""
    names = ("goal", "tip", "contact_point", "contact_force")
    values = [np.array(outputs[name].value, dtype=float) for name in names]
    return Markers(*(value.reshape(-1, 3) for value in values))
