"""Identification of FEM robots in scenes from markers and cables."""

from sofa_softctl.identification.fem.experiment import FemExperiment
from sofa_softctl.identification.fem.parameter import (
    FemParameter,
    FrameParameter,
    frame_parameters,
    material_parameter,
    payload,
    poisson_ratio,
    rayleigh_mass,
    rayleigh_stiffness,
    total_mass,
    young_modulus,
)
from sofa_softctl.identification.fem.problem import FemProblem
from sofa_softctl.identification.fem.record import recording_of
from sofa_softctl.identification.fem.registration import Registration, register
from sofa_softctl.identification.fem.sensing import (
    CableLength,
    CavityVolume,
    Drive,
    Marker,
    PressureDrive,
)

__all__ = [
    "CableLength",
    "CavityVolume",
    "Drive",
    "FemExperiment",
    "FemParameter",
    "FemProblem",
    "FrameParameter",
    "Marker",
    "PressureDrive",
    "Registration",
    "frame_parameters",
    "material_parameter",
    "payload",
    "poisson_ratio",
    "rayleigh_mass",
    "rayleigh_stiffness",
    "recording_of",
    "register",
    "total_mass",
    "young_modulus",
]
