"""Batches: many runs of a scene, one row a run."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "execution.driver": ["Progress"],
        "running": ["Repetition", "read", "rerun", "run"],
        "study.axes": ["Normal", "Range"],
        "study.file": ["read_study"],
        "study.make": ["make_study"],
        "study.study": ["Study"],
        "table.results": ["Results"],
    },
)
