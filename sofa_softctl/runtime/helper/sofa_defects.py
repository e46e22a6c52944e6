"""Defects of SOFA that are mended here, and the variable that brings them back.

Each is on the page docs/explanation/where-we-differ.md.
"""

import os

VARIABLE = "SOFTCTL_SOFA_DEFECTS"
"""Environment variable: 1 gives SOFA's numbers where they are those of a defect."""


def keeps_sofa_defects() -> bool:
    """Return True if a user asks for SOFA's numbers, defects included."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")
