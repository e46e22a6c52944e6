"""Checks of regions of materials: overlaps and uncovered tetrahedra."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fem.parameter import FemParameter
from sofa_softctl.scene.step_model import Region, StepParameter
from sofa_softctl.units import Units, symbol


def check_regions(parameters: Sequence[FemParameter], found: Sequence[StepParameter]) -> None:
    """Check that no tetrahedron belongs to two regions of the same parameter.

    Args:
        parameters: Parameters of the scene.
        found: Each of them in the model.

    Raises:
        IdentificationError: One does.
    """
    owner: dict[tuple[int, int, int], str] = {}
    for one, region in zip(parameters, found, strict=True):
        if not isinstance(region, Region):
            continue
        for element, number in product(region.elements, region.sets):
            key = (id(region.field), int(element), number)
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
    groups: dict[tuple[int, str], dict[str, Region]] = {}
    for one, region in zip(parameters, found, strict=True):
        if isinstance(region, Region):
            groups.setdefault((id(region.field), region.quantity), {})[one.name] = region
    notes = []
    for regions in groups.values():
        first = next(iter(regions.values()))
        field, values = first.field, first.values()
        left = np.ones(len(field.elements), dtype=bool)
        for region in regions.values():
            left[region.elements] = False
        if not left.any():
            continue
        axis = int(np.ptp(field.x0, axis=0).argmax())
        along = field.x0[field.elements[left]].mean(axis=1)[:, axis]
        kept = values[left]
        shown = " to ".join(dict.fromkeys(f"{v:.4g}" for v in (kept.min(), kept.max())))
        notes.append(
            f"{left.sum()} of {len(left)} tetrahedra, {'xyz'[axis]} from {along.min():.4g} to "
            f"{along.max():.4g} {symbol(units, 'length')}, belong to no region "
            f"({', '.join(regions)}): they keep the scene's {first.quantity}, {shown} "
            f"{symbol(units, 'pressure')}"
        )
    return notes
