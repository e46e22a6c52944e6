"""Scenes as controllers see them, the same on both backends."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "control.contacts": ["contacts_of"],
        "control.controller": ["SceneController", "pauses_on_error"],
        "control.report": ["History", "Line", "Markers", "Report", "Summary", "Table"],
        "control.streams": ["StreamRows"],
        "control.system": ["ComplianceSystem"],
        "graph.nodes": ["devices_stay_closed", "keep_devices_closed"],
        "session.session": ["Session"],
    },
)
