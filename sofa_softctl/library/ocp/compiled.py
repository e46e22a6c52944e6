"""Compile CasADi functions via C, for faster solves."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sofa_softctl.errors import SoftctlError
from sofa_softctl.library.ocp.formulas import casadi


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
            f"Compiled programs need a C compiler, and there is no '{name}'. Install gcc, set CC, "
            "or leave compiled=False."
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
