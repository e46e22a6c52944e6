"""`njit`, the decorator of every compiled kernel: `sofa_softctl.jit`."""

from sofa_softctl.jit import njit, use_temporary_cache

__all__ = ["njit", "use_temporary_cache"]
