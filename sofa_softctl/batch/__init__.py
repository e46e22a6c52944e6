"""Batches: many runs of a scene, one row a run."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "execution.driver": ["Progress"],
        "make": ["make_study"],
        "parameters.axes": ["Normal", "Range"],
        "results": ["Results"],
        "running": ["Repetition", "read", "rerun", "run"],
        "study": ["Study"],
        "study_file": ["read_study"],
    },
)
