"""Scenes whose whole motion takes minutes: their first contacts, in seconds."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session.session import Session

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.mark.parametrize(
    ("scene", "steps", "friction"),
    [("cylinder_grasp", 8, 0.6), ("three_fingers", 12, 0.8), ("trunk_cup", 6, 0.9)],
)
def test_efforts_are_solved_and_contacts_keep_coulombs_law(scene, steps, friction):
    """Each step solved, or as near as its limits allow; 1e-6: the tolerance of the contact law."""
    session = Session(SCENES / f"{scene}.py")
    inverse = session.root.inverse
    largest = 0.0
    for _ in range(steps):
        session.step()
        assert inverse.solution.status.ok, inverse.solution.status
        force, normal = np.asarray(inverse.contact_force.value), inverse.contact_normal.value
        if len(normal):
            tangential = np.sqrt(np.maximum((force**2).sum(axis=1) - normal**2, 0.0))
            largest = max(largest, float((tangential / np.maximum(normal, 1e-9)).max()))
            assert (normal >= 0.0).all()
    assert largest <= friction * (1.0 + 1e-6)
