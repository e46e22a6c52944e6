"""Motion planning on a grid of interpolated equilibria."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "controller": ["SurrogateController"],
        "planning.costs": ["Effort", "Following", "Smoothness"],
        "planning.obstacles.obstacle": ["Obstacle"],
        "planning.probes": ["Laser", "Point"],
        "planning.obstacles.solids": ["Box", "HalfSpace", "Sphere"],
        "task": ["Task"],
    },
)
