"""Programs of libraries that are compiled via C, which are solved three to six times as fast."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sofa_softctl.errors import SoftctlError
from sofa_softctl.library.ocp.formulas import casadi
from sofa_softctl.library.ocp.shooting import OPTIONS, WARM, Program, ipopt


class CompiledProgram(Program):
    """A program that is compiled at its first solve, which takes seconds.

    Raises:
        ValueError: A formula has the wrong number of rows.
        SoftctlError: CasADi is not installed, or at the first solve there is no C compiler.
    """

    def _integrator(self, ca: Any, dt: float) -> Any:
        # A loop over the steps is a fifth of the code to compile, but slower without compiling.
        step, count = self._step(ca, dt / self.problem.steps), self.problem.steps
        x, u, z, p = step.mx_in()
        held = [ca.repmat(each, 1, count) for each in (u, z, p)]
        return ca.Function("interval", [x, u, z, p], [step.mapaccum(count)(x, *held)[:, -1]])

    @cached_property
    def _solvers(self) -> tuple[Any, Any]:
        draft = ipopt(self.nlp, OPTIONS)
        parts = [draft.oracle(), *(draft.get_function(name) for name in draft.get_function())]
        with compiled(parts) as library:
            return ipopt(library, OPTIONS), ipopt(library, WARM)


def can_compile() -> bool:
    """Whether there is a C compiler: what CC names, or cc."""
    return _compiler()[1] is not None


def _compiler() -> tuple[str, str | None]:
    """Its name, and its path if it exists."""
    name = os.environ.get("CC", "cc")
    return name, shutil.which(name)


@contextmanager
def compiled(functions: Sequence[Any]) -> Iterator[str]:
    """Path of a shared library with these functions, valid within the context.

    Raises:
        SoftctlError: There is no C compiler, or it fails.
    """
    name, compiler = _compiler()
    if compiler is None:
        raise SoftctlError(
            f"Compiled programs need a C compiler, and there is no '{name}'. Install gcc, or set "
            "CC."
        )
    with TemporaryDirectory(prefix="softctl-") as folder:
        source, library = Path(folder) / "program.c", Path(folder) / "program.so"
        generator = casadi().CodeGenerator(source.name)
        for function in functions:
            generator.add(function)
        source.write_text(generator.dump())
        # -O2 takes twice as long to compile and gives the same speed.
        command = [compiler, "-O1", "-w", "-fPIC", "-shared", str(source), "-o", str(library)]
        done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SoftctlError(f"'{name}' could not compile the program:\n{done.stderr[-2000:]}")
        yield str(library)
