"""Number of threads of BLAS."""

from __future__ import annotations

import functools
from typing import Any

from threadpoolctl import ThreadpoolController


class one_blas_thread:
    """Context in which NumPy's and SciPy's BLAS use one thread: with more, small calls are slower.

    Two threads on two cores make the factorisation of 6000 unknowns 1.6 times slower. Entering
    and leaving takes about 3 microseconds, the first time 2 ms. Applies to the whole process.
    """

    def __enter__(self) -> None:
        self.threads = [(library, library.get_num_threads()) for library in blas_libraries()]
        for library, count in self.threads:
            if count != 1:
                library.set_num_threads(1)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        for library, count in self.threads:
            if count != 1:
                library.set_num_threads(count)


@functools.cache
def blas_libraries() -> list[Any]:
    """Return the BLAS libraries of this process, as threadpoolctl's controllers."""
    controllers = ThreadpoolController().lib_controllers
    return [library for library in controllers if library.user_api == "blas"]
