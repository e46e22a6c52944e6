"""Environments of the tiny scene."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
TINY = Path(__file__).parent / "tiny.py"


@pytest.fixture
def tiny():
    """Path of the tiny scene."""
    return TINY


@pytest.fixture
def make_env():
    """Makes an environment of the tiny scene; all are closed at the end."""
    from sofa_softctl.learning import SceneEnv
    from sofa_softctl.learning.environments.named import task_of

    made = []

    def make(**other):
        from dataclasses import replace

        options = {name: other.pop(name) for name in ("scaled", "render_mode") if name in other}
        task = replace(task_of(TINY, "reach"), **other)
        made.append(SceneEnv.of_task(TINY, task, **options))
        return made[-1]

    yield make
    for env in made:
        env.close()
