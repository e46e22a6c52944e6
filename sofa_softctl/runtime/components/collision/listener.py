"""Contacts of one or two collision models, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.link import LinkType

if TYPE_CHECKING:
    from sofa_softctl.runtime.kernels.contact.proximity import Proximities


class ContactListener(Component):
    """Reports the contacts of one model with another, or with all others.

    As in SOFA, the contacts belong to the previous step. `sofa_softctl.scene.control.contacts`
    gives the present ones, with forces.
    """

    category: ClassVar[str] = "contact listener"

    collisionModel1 = LinkType("Model to listen to.", kind="collision model")
    collisionModel2 = LinkType("Only its contacts with this model.", kind="collision model")

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._current: list[tuple[bool, Proximities, np.ndarray]] = []
        self._previous: list[tuple[bool, Proximities, np.ndarray]] = []

    def store_contacts(self, contacts: list[Any]) -> None:
        """Store the contacts of a step; called by the pipeline.

        Args:
            contacts: Constraints of the pairs of models that touch.
        """
        model = self._links["collisionModel1"].getLinkedBase()
        partner = self._links["collisionModel2"].getLinkedBase()
        self._previous, self._current = self._current, []
        for contact in contacts:
            ids = [id(side) for side in contact.models]
            if id(model) in ids and (partner is None or {id(model), id(partner)} == set(ids)):
                swapped = ids[0] != id(model)
                self._current.append((swapped, contact.near, contact.contact_distance))

    def _last_contacts(self) -> tuple[bool, Proximities, np.ndarray] | None:
        return self._previous[0] if self._previous else None

    def getNumberOfContacts(self) -> int:
        """Return the number of contacts of the first pair of models that touched."""
        last = self._last_contacts()
        return 0 if last is None else len(last[1].distance)

    def getDistances(self) -> list[float]:
        """Return distances minus contact distance, thickness and radii [length]."""
        last = self._last_contacts()
        return [] if last is None else (last[1].distance - last[2]).tolist()

    def getContactPoints(self) -> list[tuple[int, np.ndarray, int, np.ndarray]]:
        """Return model (0 or 1) and point [length] of both sides of each contact."""
        last = self._last_contacts()
        if last is None:
            return []
        swapped = int(last[0])
        return [(swapped, a, 1 - swapped, b) for a, b in last[1].point]

    def getContactElements(self) -> list[tuple[int, int, int, int]]:
        """Return model (0 or 1) and element of both sides of each contact."""
        last = self._last_contacts()
        if last is None:
            return []
        swapped = int(last[0])
        return [(swapped, a, 1 - swapped, b) for a, b in last[1].element.tolist()]

    def getContactData(self) -> dict[str, Any]:
        """Return number, points and elements of the contacts, by model."""
        last = self._last_contacts()
        sides = (0, 1) if last is None or not last[0] else (1, 0)
        data: dict[str, Any] = {"numberOfContacts": self.getNumberOfContacts()}
        for number, side in enumerate(sides, start=1):
            points = [] if last is None else list(last[1].point[:, side])
            elements = [] if last is None else last[1].element[:, side].tolist()
            data[f"collisionPointsModel{number}"] = points
            data[f"collisionElementsModel{number}"] = elements
        return data

    def reset(self) -> None:
        """Forget the contacts."""
        self._current, self._previous = [], []
