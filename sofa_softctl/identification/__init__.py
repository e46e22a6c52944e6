"""Parameter identification from measured motion, with uncertainty."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "data.files": ["read_recording"],
        "design.design": ["design_motion"],
        "effects.selection": ["effects_of", "uncertain", "with_effects"],
        "effects.sensors": ["Delayed"],
        "fitting.estimate": ["estimate"],
        "model.channel": ["Channel"],
        "model.experiment": ["Effect", "Experiment", "PulledBack", "Refinement"],
        "model.parameter": ["Parameter", "Prior"],
        "model.problem": ["Problem"],
        "model.recording": ["Recording"],
        "online.controller": ["IdentificationController"],
        "report.make": ["make_report"],
        "uncertainty.bootstrap": ["bootstrap"],
        "uncertainty.discretisation": ["discretisation_budget"],
    },
)
