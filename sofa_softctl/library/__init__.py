"""Libraries of optimal trajectories, refined online for given parameters."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "building.build": ["Builder"],
        "motions.library": ["TrajectoryLibrary"],
        "motions.storage": ["LibraryFile", "load"],
        "ocp.problem": ["Mirror", "OptimalControlProblem", "Parameter", "Variable"],
        "ocp.shooting": ["Program"],
        "playing.controller": ["LibraryController"],
        "playing.correcting": ["CorrectingLibraryController"],
        "reduced.chain.correction": ["ChainCorrection", "Limits"],
        "reduced.chain.identification": ["Frame", "RecordedMotion", "identify_chain", "record"],
        "reduced.chain.model": ["ChainModel", "Plant"],
        "reduced.chain.motion": ["chain_problem", "rollout", "tension_command"],
        "reduced.swing": ["ReducedModel", "identify", "motion_problem", "pull"],
    },
)
