"""The embedded runtime: SOFA's Python API and numerical semantics, headless, without SOFA."""

from sofa_softctl._internal.late_names import when_named
from sofa_softctl._internal.public import public
from sofa_softctl.runtime.components import __all__ as _components

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "behavior.constraint": ["LagrangianConstraint"],
        "behavior.mapping": ["Mapping"],
        "behavior.mechanics": ["ForceField", "Mass", "ProjectiveConstraint"],
        "behavior.step_term": ["ConstantStiffnessTerm", "StepTerm"],
        "components.mapping.linear": ["LinearMapping"],
        "components.roi.base": ["RegionOfInterest"],
        "core.component": ["Component"],
        "core.data.types": [
            "Bool",
            "Bools",
            "Choice",
            "Coords",
            "Derivs",
            "Elements",
            "Int",
            "Integers",
            "Real",
            "Reals",
            "Text",
            "Texts",
            "Vector",
            "Vectors",
        ],
        "core.link": ["LinkType"],
    },
)


def _register(name: str) -> None:
    from sofa_softctl.runtime import components
    from sofa_softctl.runtime.core import factory

    factory.register(getattr(components, name))


when_named(_components, _register)  # all of them take half a second to import
