"""The embedded runtime: SOFA's Python API and numerical semantics, headless, without SOFA."""

from sofa_softctl.base.public import public
from sofa_softctl.runtime.components import __all__ as _components
from sofa_softctl.runtime.components.aliases import ALIASES as _ALIASES
from sofa_softctl.runtime.core import COMPONENTS as _COMPONENTS

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

_COMPONENTS.build_in(
    {
        name: f"runtime.components:{kind}"
        for name, kind in (dict(zip(_components, _components, strict=True)) | _ALIASES).items()
    }
)
