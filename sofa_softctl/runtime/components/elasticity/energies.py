"""Strain energies by the name of their material."""

from sofa_softctl.runtime.components.elasticity.corotational_energy import CorotationalEnergy
from sofa_softctl.runtime.components.elasticity.strain_energy import (
    HYPERELASTIC_ENERGIES,
    StrainEnergy,
)

ENERGIES: dict[str, StrainEnergy] = {"Corotational": CorotationalEnergy(), **HYPERELASTIC_ENERGIES}
"""Strain energy of each materialName."""
