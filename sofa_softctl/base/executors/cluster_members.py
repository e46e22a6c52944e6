"""Workers of a Dask cluster: check of their versions, and preparation for tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sofa_softctl.base.executors.carried import read_contents
from sofa_softctl.base.executors.cluster_worker import WorkerSetup, prepare
from sofa_softctl.base.versions import blas_kernels, made_of
from sofa_softctl.errors import ClusterError


class Members:
    """Workers of a cluster, with their number of simultaneous tasks.

    Args:
        client: A `distributed.Client`.
        setup: Data that each worker needs before its first task.
    """

    def __init__(self, client: Any, setup: WorkerSetup) -> None:
        self._client, self.setup = client, setup
        self._ready: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        """Reasons for workers that are not used, by their addresses."""
        self.kernels: set[str] = set()
        """Processors for which the BLAS of the prepared workers has chosen its kernels."""
        self.worker_count = 0
        """Number of workers of the cluster at the last update."""

    @property
    def count(self) -> int:
        """Number of simultaneous tasks."""
        return sum(self._ready.values())

    def update(self) -> bool:
        """Prepare workers that have joined; return True if the set of ready workers has changed.

        Raises:
            OSError: The scheduler does not answer.
        """
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        self.worker_count = len(workers)
        self.refused = {name: reason for name, reason in self.refused.items() if name in workers}
        ready = {
            name: worker["nthreads"]
            for name, worker in workers.items()
            if self.setup.name in worker["resources"]
        }
        new = [name for name in workers if name not in ready and name not in self.refused]
        if new:
            ready |= {name: workers[name]["nthreads"] for name in self._prepare(new)}
        ready_before, self._ready = self._ready, ready
        return ready_before.keys() != ready.keys()

    def _prepare(self, names: list[str]) -> list[str]:
        """Prepare workers; return those that are ready. Workers may leave in between."""
        accepted = [
            name
            for name, versions in self._run(_worker_versions, names).items()
            if self._fits(name, versions)
        ]
        is_ready = self._run_prepare(accepted, None)
        without_files = [name for name, is_prepared in is_ready.items() if not is_prepared]
        if without_files:
            try:
                is_ready |= self._run_prepare(without_files, read_contents(self.setup.files))
            except ClusterError as error:
                for name in without_files:
                    self._refuse(name, f"does not see the files that tasks read. {error}")
        return [name for name, is_prepared in is_ready.items() if is_prepared]

    def _run_prepare(self, names: list[str], content: Any) -> dict[str, bool]:
        answers = self._run(prepare, names, self.setup, content)
        for name, answer in answers.items():
            if isinstance(answer, Exception):
                self._refuse(name, f"cannot be made ready ({type(answer).__name__}: {answer}).")
        return {name: answer for name, answer in answers.items() if isinstance(answer, bool)}

    def _run(self, function: Callable[..., Any], names: list[str], *args: Any) -> dict[str, Any]:
        """Run a function on workers; return results or exceptions of those that have not left."""
        if not names:
            return {}
        answers = self._client.run(function, *args, workers=names, on_error="return")
        return {name: answer for name, answer in answers.items() if not isinstance(answer, _LEFT)}

    def _fits(self, name: str, answer: Mapping[str, Any] | Exception) -> bool:
        """Return True if a worker has the versions of this process."""
        if isinstance(answer, Exception):
            self._refuse(
                name,
                "has no sofa_softctl that is like the one here "
                f"({type(answer).__name__}: {answer}). Install the same version there.",
            )
            return False
        mismatches = version_differences(made_of(), answer)
        if not mismatches:
            self.kernels.add(answer["blas_kernels"])
        if mismatches:
            self._refuse(
                name,
                f"has {', '.join(mismatches)}. Its results would not be those of this computer: "
                "use the same environment on all computers.",
            )
        return not mismatches

    def _refuse(self, name: str, reason: str) -> None:
        self.refused[name] = f"The Dask worker {name} {reason}"


def _worker_versions() -> dict[str, Any]:
    return made_of() | {"blas_kernels": blas_kernels()}


_LEFT = (OSError, TimeoutError)


def version_differences(local: Mapping[str, Any], remote: Mapping[str, Any]) -> list[str]:
    """Return the versions of a worker that differ, as texts.

    Args:
        local: `versions.made_of` of this process.
        remote: `versions.made_of` of the worker.
    """
    mismatches = []
    for name, version in local["versions"].items():
        remote_version = remote["versions"].get(name, "not installed")
        if name == "python":  # releases of one minor version give the same numbers
            version, remote_version = (
                ".".join(text.split(".")[:2]) for text in (version, remote_version)
            )
        if remote_version != version:
            mismatches.append(f"{name} {remote_version}, not {version}")
    if not mismatches and remote["package"] != local["package"]:
        mismatches.append(f"other sources of sofa_softctl {local['versions']['softctl']}")
    return mismatches
