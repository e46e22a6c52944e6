"""Libraries of optimal trajectories, refined online for given parameters."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "build": ["Builder"],
        "chain.correction": ["ChainCorrection", "Limits"],
        "chain.identification": ["Frame", "RecordedMotion", "identify_chain", "record"],
        "chain.model": ["ChainModel", "Plant"],
        "chain.motion": ["chain_problem", "tension_command"],
        "chain.rollout": ["rollout"],
        "controller": ["LibraryController"],
        "correcting": ["CorrectingLibraryController"],
        "library": ["TrajectoryLibrary"],
        "ocp.problem": ["Mirror", "OptimalControlProblem", "Parameter", "Variable"],
        "ocp.shooting": ["Program"],
        "storage": ["LibraryFile", "load"],
        "swing_model": ["ReducedModel", "identify", "motion_problem", "pull"],
    },
)
