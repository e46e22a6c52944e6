"""Which workers of a Dask cluster do tasks: those of the same versions, made ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sofa_softctl.base.executors.carried import contents
from sofa_softctl.base.executors.cluster_worker import Setup, prepare
from sofa_softctl.base.versions import blas_kernels, made_of
from sofa_softctl.errors import ClusterError


class Members:
    """The workers of a cluster, and how many tasks they do at once.

    Args:
        client: A `distributed.Client`.
        setup: What each needs before its first task.
    """

    def __init__(self, client: Any, setup: Setup) -> None:
        self._client, self.setup = client, setup
        self._ready: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        """Why workers are not used, by their addresses."""
        self.kernels: set[str] = set()
        """Processors for which workers that were made ready have chosen their BLAS kernels."""
        self.known = 0
        """Workers of the cluster at the last look."""

    @property
    def count(self) -> int:
        """Tasks that are done at once."""
        return sum(self._ready.values())

    def look(self) -> bool:
        """Make workers ready that have joined; whether those that are ready have changed.

        Raises:
            OSError: The scheduler does not answer.
        """
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        self.known = len(found)
        self.refused = {name: why for name, why in self.refused.items() if name in found}
        ready = {
            name: worker["nthreads"]
            for name, worker in found.items()
            if self.setup.name in worker["resources"]
        }
        new = [name for name in found if name not in ready and name not in self.refused]
        if new:
            ready |= {name: found[name]["nthreads"] for name in self._prepare(new)}
        before, self._ready = self._ready, ready
        return before.keys() != ready.keys()

    def _prepare(self, names: list[str]) -> list[str]:
        """Workers of these that are ready now. One that has left meanwhile is none."""
        good = [name for name, said in self._run(_asked, names).items() if self._fits(name, said)]
        done = self._run_prepare(good, None)
        lacking = [name for name, ready in done.items() if not ready]
        if lacking:
            try:
                done |= self._run_prepare(lacking, contents(self.setup.files))
            except ClusterError as error:
                for name in lacking:
                    self._refuse(name, f"does not see the files that tasks read. {error}")
        return [name for name, ready in done.items() if ready]

    def _run_prepare(self, names: list[str], content: Any) -> dict[str, bool]:
        said = self._run(prepare, names, self.setup, content)
        for name, answer in said.items():
            if isinstance(answer, Exception):
                self._refuse(name, f"cannot be made ready ({type(answer).__name__}: {answer}).")
        return {name: answer for name, answer in said.items() if isinstance(answer, bool)}

    def _run(self, function: Callable[..., Any], names: list[str], *args: Any) -> dict[str, Any]:
        """What a function gives on workers, or raises; without those that have left."""
        if not names:
            return {}
        said = self._client.run(function, *args, workers=names, on_error="return")
        return {name: each for name, each in said.items() if not isinstance(each, _LEFT)}

    def _fits(self, name: str, said: Mapping[str, Any] | Exception) -> bool:
        """Whether a worker has the versions of this process."""
        if isinstance(said, Exception):
            self._refuse(
                name,
                f"has no sofa_softctl that is like the one here ({type(said).__name__}: {said}). "
                "Install the same version there.",
            )
            return False
        wrong = differences(made_of(), said)
        if not wrong:
            self.kernels.add(said["blas_kernels"])
        if wrong:
            self._refuse(
                name,
                f"has {', '.join(wrong)}. Its results would not be those of this computer: use the "
                "same environment on all computers.",
            )
        return not wrong

    def _refuse(self, name: str, why: str) -> None:
        self.refused[name] = f"The Dask worker {name} {why}"


def _asked() -> dict[str, Any]:
    return made_of() | {"blas_kernels": blas_kernels()}


_LEFT = (OSError, TimeoutError)


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    """What a worker has in other versions, in words; empty: nothing.

    Args:
        here: `versions.made_of` of this process.
        there: That of the worker.
    """
    found = []
    for name, version in here["versions"].items():
        other = there["versions"].get(name, "not installed")
        if name == "python":  # releases of one minor version give the same numbers
            version, other = (".".join(text.split(".")[:2]) for text in (version, other))
        if other != version:
            found.append(f"{name} {other}, not {version}")
    if not found and there["package"] != here["package"]:
        found.append(f"other sources of sofa_softctl {here['versions']['softctl']}")
    return found
