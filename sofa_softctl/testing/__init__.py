"""Checks of plugins' components, controllers, devices and solvers, for use in their tests."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "component": ["check_component"],
        "controller": ["check_controller"],
        "device": ["check_device"],
        "force_field": ["check_force_field"],
        "jacobian": ["JacobianCheck", "check_jacobian"],
        "mapping": ["check_mapping"],
        "mass": ["check_mass"],
        "qp_solver": ["check_qp_solver"],
        "scene": ["SmallScene", "small_scene"],
    },
)
