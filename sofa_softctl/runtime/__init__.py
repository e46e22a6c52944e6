"""The embedded runtime: SOFA's Python API and numerical semantics, headless, without SOFA."""

from sofa_softctl._internal.late_names import when_unknown


def _register_components() -> None:
    from sofa_softctl.runtime.components import CLASSES
    from sofa_softctl.runtime.core import factory

    for component in CLASSES:
        factory.register(component)


when_unknown(_register_components)
