"""SOFA's records."""

import pytest


@pytest.fixture(autouse=True)
def sofa_defects(monkeypatch):
    """Records are SOFA's own numbers, also where these are those of a defect."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", "1")
