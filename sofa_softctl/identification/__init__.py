"""Parameter identification from measured motion, with uncertainty."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "channel": ["Channel"],
        "controller": ["IdentificationController"],
        "effects.delay": ["Delayed"],
        "data.files": ["read_recording"],
        "data.recording": ["Recording"],
        "design.design": ["design_motion"],
        "effect": ["Effect"],
        "effects.generic": ["effects_of"],
        "effects.known": ["uncertain"],
        "effects.selection": ["with_effects"],
        "experiment": ["Experiment", "PulledBack"],
        "fitting.estimate": ["estimate"],
        "parameter": ["Parameter", "Prior"],
        "problem": ["Problem"],
        "refinement": ["Refinement"],
        "report.make": ["make_report"],
        "uncertainty.bootstrap": ["bootstrap"],
        "uncertainty.discretisation": ["discretisation_budget"],
    },
)
