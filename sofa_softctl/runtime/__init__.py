"""The embedded runtime: SOFA's Python API and numerical semantics, headless, without SOFA."""
