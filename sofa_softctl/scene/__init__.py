"""Scenes as controllers see them, the same on both backends."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "constraints.system": ["ComplianceSystem"],
        "constraints.contacts": ["contacts_of"],
        "controller": ["SceneController", "pauses_on_error"],
        "devices": ["devices_stay_closed", "keep_devices_closed"],
        "report": ["History", "Line", "Markers", "Report", "Summary", "Table"],
        "session": ["Session"],
        "streams": ["StreamRows"],
    },
)
