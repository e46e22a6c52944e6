"""Checks of regions with Young's moduli: overlaps and uncovered tetrahedra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fem.parameter import FemParameter
from sofa_softctl.scene.step_model import Moduli, StepParameter
from sofa_softctl.units import Units, symbol


def check_regions(parameters: Sequence[FemParameter], found: Sequence[StepParameter]) -> None:
    """Check that no tetrahedron belongs to two regions.

    Args:
        parameters: Parameters of the scene.
        found: Each of them in the model.

    Raises:
        IdentificationError: One does.
    """
    owner: dict[tuple[int, int], str] = {}
    for one, region in zip(parameters, found, strict=True):
        if not isinstance(region, Moduli):
            continue
        for element in region.elements:
            key = (id(region.elastic), int(element))
            if key in owner:
                raise IdentificationError(
                    f"Regions '{owner[key]}' and '{one.name}' share tetrahedra, first "
                    f"{int(element)}: separate them."
                )
            owner[key] = one.name


def uncovered(
    parameters: Sequence[FemParameter], found: Sequence[StepParameter], units: Units | None
) -> list[str]:
    """Notes on force fields with tetrahedra inside and outside regions.

    Args:
        parameters, found: As for `check_regions`.
        units: Units of the scene.
    """
    regions = [one for one in found if isinstance(one, Moduli)]
    notes = []
    for field in {id(one.elastic): one.elastic for one in regions}.values():
        left = np.ones(len(field.elements), dtype=bool)
        for one in regions:
            if one.elastic is field:
                left[one.elements] = False
        if not left.any():
            continue
        axis = int(np.ptp(field.x0, axis=0).argmax())
        along = field.x0[field.elements[left]].mean(axis=1)[:, axis]
        moduli = field.moduli()[left]
        values = " to ".join(dict.fromkeys(f"{v:.4g}" for v in (moduli.min(), moduli.max())))
        names = ", ".join(
            one.name for one, r in zip(parameters, found, strict=True) if isinstance(r, Moduli)
        )
        notes.append(
            f"{left.sum()} of {len(left)} tetrahedra, {'xyz'[axis]} from {along.min():.4g} to "
            f"{along.max():.4g} {symbol(units, 'length')}, belong to no region ({names}): they "
            f"keep the scene's Young's modulus, {values} {symbol(units, 'pressure')}"
        )
    return notes
