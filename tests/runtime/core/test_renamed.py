"""What became of names of components."""

import pytest

from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.renamed import ELSEWHERE, ERRORS_IN_SOFA, REMOVED, RENAMED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FixedConstraint", "FixedProjectiveConstraint"),
        ("BilateralInteractionConstraint", "BilateralLagrangianConstraint"),
        ("DefaultPipeline", "CollisionPipeline"),
        ("FreeMotionMasterSolver", "FreeMotionAnimationLoop"),
        ("TTriangleModel", "TriangleCollisionModel"),
        ("ExplicitEuler", "EulerExplicitSolver"),
        ("AttachBodyButton", "AttachBodyButtonSetting"),
        ("OglGrid", "VisualGrid"),
    ],
)
def test_an_old_name_leads_to_the_new_one(old, new):
    assert RENAMED[old] == new


def test_a_name_is_in_one_table_and_leads_to_no_further_old_name():
    assert not set(RENAMED) & set(REMOVED)
    assert not set(RENAMED.values()) & (set(RENAMED) | set(REMOVED) | set(ELSEWHERE))
    assert set(RENAMED) > ERRORS_IN_SOFA


def test_an_alias_of_a_component_here_is_no_old_name_of_another():
    """An alias in the registry, and the same name in the table, mean the same class."""
    for old, new in RENAMED.items():
        kind = factory.find(old)
        assert kind is None or kind.__name__ in (old, new), old
