"""Parameter identification from measured motion, with uncertainty."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "controller": ["IdentificationController"],
        "data.delay": ["Delayed"],
        "data.files": ["read_recording"],
        "data.recording": ["Recording"],
        "effects.effect": ["Effect"],
        "effects.known": ["uncertain"],
        "effects.selection": ["with_effects"],
        "experiment": ["Channel", "Experiment", "PulledBack"],
        "fitting.estimate": ["estimate"],
        "fitting.steepest_descent": ["descend"],
        "parameter": ["Parameter", "Prior"],
        "problem": ["Problem"],
        "report.report": ["make_report"],
    },
)
