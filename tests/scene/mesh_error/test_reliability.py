"""The estimate beside the truth: a third refinement, and Richardson by the order that it shows."""

import pytest

from sofa_softctl.scene.mesh_error.bodies import elastic_bodies
from sofa_softctl.scene.mesh_error.body_model import BodyModel
from sofa_softctl.scene.mesh_error.elements import refine
from sofa_softctl.scene.mesh_error.estimate import estimate
from sofa_softctl.scene.session.session import Session
from tests.scene.mesh_error.beams import beam, session_of

BODIES = {
    "pads": lambda: Session("scenes/pushing.py", backend="embedded"),
    "grasp": lambda: Session("scenes/cylinder_grasp.py", backend="embedded"),
    "arm": lambda: Session("scenes/planar_arm.py", backend="embedded"),
    **{
        f"{shape} {ratio}": lambda shape=shape, ratio=ratio: session_of(
            *beam(1, shape=shape), ratio=ratio
        )
        for shape in ("tetrahedra", "hexahedra")
        for ratio in (0.3, 0.45, 0.49)
    },
}


def compliances(model, densities, count):
    """Compliances on meshes that are refined once, twice, ..."""
    for _ in range(count):
        refinement = refine(model.parts)
        densities = [refinement.weights @ density for density in densities]
        model = model.with_refinement(refinement.parts, refinement.weights)
        yield model.compliances(densities)[0]


@pytest.mark.study
@pytest.mark.parametrize("name", BODIES)
def test_estimates_are_near_the_truth(name):
    """Stiffness within 3 % after two refinements, and within -25 % to 5 % after one."""
    _, body = next(elastic_bodies(BODIES[name]().root))
    model = BodyModel(body.parts, body.motion, body.support)
    full, quick = (estimate(body, quick=quick).worst for quick in (False, True))
    force = body.loads.get(full.load)
    density = model.softest_motion() if force is None else model.density(force)
    first, second, third = compliances(model, [density], 3)
    ratio = min(max((third - second) / (second - first), 0.0), 0.6)
    limit = third + (third - second) * ratio / (1.0 - ratio)
    truth = limit / model.compliances([density])[0]
    assert (1.0 + full.excess) / truth == pytest.approx(1.0, abs=0.03)
    assert -0.25 < (1.0 + quick.excess) / truth - 1.0 < 0.05
