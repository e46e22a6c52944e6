"""Motion planning on a grid of interpolated equilibria."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "controller": ["SurrogateController"],
        "grid.cells.adaptive": ["AdaptiveGrid"],
        "grid.cells.uniform": ["Grid"],
        "grid.embedding": ["Embedding", "Jet"],
        "grid.evaluation": ["CostlyMap", "Neighbour", "MapSample"],
        "grid.storage.store": ["Store"],
        "grid.tensor_spline": ["TensorSpline"],
        "planning.costs": ["Effort", "Following", "InputCost", "OutputCost", "Smoothness"],
        "planning.dynamics": ["Dynamics", "LinearisedDynamics", "Steps"],
        "planning.obstacles.obstacle": ["Obstacle"],
        "planning.planner": ["Iteration", "Plan", "plan"],
        "planning.probes": ["Laser", "Point"],
        "planning.program.transcription": ["Limits", "PlanningProblem"],
        "planning.program.settings": ["Settings"],
        "planning.step": ["Simulation", "simulate"],
        "planning.obstacles.solids": ["Box", "HalfSpace", "Sphere"],
        "task": ["Task"],
    },
)
