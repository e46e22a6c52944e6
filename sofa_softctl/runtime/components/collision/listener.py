"""Contacts of one or two collision models, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.link import LinkType

if TYPE_CHECKING:
    from sofa_softctl.runtime.kernels.contact.proximity import Proximities


class ContactListener(Component):
    """Tells where one model touches another, or anything.

    As in SOFA it reports the contacts of the step before: those of the present step are read from
    `sofa_softctl.scene.control.contacts`, with their forces.
    """

    category: ClassVar[str] = "contact listener"

    collisionModel1 = LinkType("Model to listen to.", kind="collision model")
    collisionModel2 = LinkType("Only its contacts with this model.", kind="collision model")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._now: list[tuple[bool, Proximities, np.ndarray]] = []
        self._before: list[tuple[bool, Proximities, np.ndarray]] = []

    def hear(self, touching: list[Any]) -> None:
        """Take over the contacts of a step; called by the pipeline.

        Args:
            touching: Constraints of the pairs of models that touch.
        """
        one = self._links["collisionModel1"].getLinkedBase()
        two = self._links["collisionModel2"].getLinkedBase()
        self._before, self._now = self._now, []
        for entry in touching:
            first, second = entry.models
            if one in (first, second) and (two is None or {id(one), id(two)} == _ids(entry)):
                self._now.append((first is not one, entry.near, entry.contact_distance))

    def _heard(self) -> tuple[bool, Proximities, np.ndarray] | None:
        return self._before[0] if self._before else None

    def getNumberOfContacts(self) -> int:
        """Contacts of the first pair of models that touched."""
        heard = self._heard()
        return 0 if heard is None else len(heard[1].distance)

    def getDistances(self) -> list[float]:
        """Distance of each contact less contact distance, thickness and radii [length]."""
        heard = self._heard()
        return [] if heard is None else (heard[1].distance - heard[2]).tolist()

    def getContactPoints(self) -> list[tuple[int, np.ndarray, int, np.ndarray]]:
        """For each contact: model (0 or 1) and point [length], of the first and of the second."""
        heard = self._heard()
        if heard is None:
            return []
        swapped = int(heard[0])
        return [(swapped, a, 1 - swapped, b) for a, b in heard[1].point]

    def getContactElements(self) -> list[tuple[int, int, int, int]]:
        """For each contact: model (0 or 1) and element, of the first and of the second."""
        heard = self._heard()
        if heard is None:
            return []
        swapped = int(heard[0])
        return [(swapped, a, 1 - swapped, b) for a, b in heard[1].element.tolist()]

    def getContactData(self) -> dict[str, Any]:
        """Number, points and elements of the contacts, by model."""
        heard = self._heard()
        sides = (0, 1) if heard is None or not heard[0] else (1, 0)
        data: dict[str, Any] = {"numberOfContacts": self.getNumberOfContacts()}
        for number, side in enumerate(sides, start=1):
            points = [] if heard is None else list(heard[1].point[:, side])
            elements = [] if heard is None else heard[1].element[:, side].tolist()
            data[f"collisionPointsModel{number}"] = points
            data[f"collisionElementsModel{number}"] = elements
        return data

    def reset(self) -> None:
        """Forget the contacts."""
        self._now, self._before = [], []


def _ids(entry: Any) -> set[int]:
    return {id(model) for model in entry.models}
