"""Motion planning on a grid of interpolated equilibria."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "cells.adaptive": ["AdaptiveGrid"],
        "cells.uniform": ["Grid"],
        "costs.costs": [
            "Effort",
            "Following",
            "InputCost",
            "Laser",
            "OutputCost",
            "Point",
            "Smoothness",
        ],
        "costs.dynamics": ["Dynamics", "LinearisedDynamics", "Steps"],
        "costs.obstacles": ["Box", "HalfSpace", "Obstacle", "Sphere"],
        "costs.step": ["Simulation", "simulate"],
        "grid.embedding": ["Embedding", "Jet"],
        "grid.evaluation": ["CostlyMap", "MapSample", "Neighbour"],
        "grid.store": ["Store"],
        "grid.tensor_spline": ["TensorSpline"],
        "models.task": ["Task"],
        "planning.planner": ["Iteration", "Plan", "plan"],
        "program.settings": ["Settings"],
        "program.transcription": ["Limits", "PlanningProblem"],
        "scene.controller": ["SurrogateController"],
    },
)
