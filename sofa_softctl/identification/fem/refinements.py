"""Finer discretisations of a FEM robot: half the time step, and a finer mesh."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sofa_softctl.identification.model.experiment import Refinement
from sofa_softctl.scene.copies.split_mesh import check_split

if TYPE_CHECKING:
    from sofa_softctl.identification.fem.experiment import FemExperiment


def refinements_of(experiment: FemExperiment) -> tuple[Refinement, ...]:
    """Return refinements by half the time step, and by a finer mesh, both of first order.

    Linear tetrahedra are of second order in displacement for smooth solutions, of less at the edges
    of clamps and loads, and if they lock, such as nearly incompressible ones. A mesh with half the
    size of elements costs 15 times as much: eight times the nodes, and more fill.
    """
    ms = 1e3 * experiment.dt
    problem = experiment.problem
    finer_step_text = f"with a time step of {0.5 * ms:.4g} instead of {ms:.4g} ms"
    finer_mesh = problem.finer_mesh
    finer_mesh_text = (
        "with each tetrahedron split in eight"
        if finer_mesh is None
        else f"with {', '.join(f'{name} = {value}' for name, value in finer_mesh.items())}"
    )
    return (
        Refinement(
            "dt", "time step", finer_step_text, partial(_make_finer, experiment, "dt"), 1, 2.0
        ),
        Refinement(
            "mesh", "mesh", finer_mesh_text, partial(_make_finer, experiment, "mesh"), 1, 15.0
        ),
    )


def _make_finer(experiment: FemExperiment, name: str) -> FemExperiment:
    """Return the experiment of the same recording and frame of the markers with a finer model."""
    from sofa_softctl.identification.fem.experiment import FemExperiment

    problem = experiment.problem
    finer = problem.finer[name]
    if finer.split > problem.split:
        check_split(problem.model, finer.model)
    return FemExperiment(finer, experiment.recording, experiment.frame)
