"""Finer discretisations of a FEM robot: half the time step, and a finer mesh."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sofa_softctl.identification.model.effect import Refinement
from sofa_softctl.scene.copies.split_mesh import check_split

if TYPE_CHECKING:
    from sofa_softctl.identification.fem.experiment import FemExperiment

MESH_COST = 15.0
"""Of a mesh with half the size of elements: eight times the nodes, and more fill [-]."""


def refinements_of(experiment: FemExperiment) -> tuple[Refinement, ...]:
    """Backward Euler is of first order; so are meshes taken to be.

    Linear tetrahedra are of second order in displacement for smooth solutions, of less at the edges
    of clamps and loads, and where they are stiff for their shape, such as nearly incompressible
    ones.
    """
    ms = 1e3 * experiment.dt
    problem = experiment.problem
    half = f"with a time step of {0.5 * ms:.4g} instead of {ms:.4g} ms"
    given = problem.finer_mesh
    finer = (
        "with each tetrahedron split in eight"
        if given is None
        else f"with {', '.join(f'{name} = {value}' for name, value in given.items())}"
    )
    return (
        Refinement("dt", "time step", half, partial(_made, experiment, "dt"), 1, 2.0),
        Refinement("mesh", "mesh", finer, partial(_made, experiment, "mesh"), 1, MESH_COST),
    )


def _made(experiment: FemExperiment, name: str) -> FemExperiment:
    """The same recording, in the same frame of the markers, with a finer model."""
    from sofa_softctl.identification.fem.experiment import FemExperiment

    problem = experiment.problem
    finer = problem.finer[name]
    if finer.split > problem.split:
        check_split(problem.model, finer.model)
    return FemExperiment(finer, experiment.recording, experiment.frame)
