"""The page on batches: its script in Python runs."""

import subprocess
import sys

from sofa_softctl import batch
from tests.docs.pages import blocks


def test_the_script_of_the_page_runs_its_study(tmp_path):
    (block,) = [each for each in blocks("how-to/run-a-batch") if "__main__" in each]
    (tmp_path / "spring.py").write_text(block)
    done = subprocess.run(
        [sys.executable, "spring.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "{'OK': 10} 1.2\n", done.stderr
    assert batch.read(tmp_path / "spring.study").parameters == ("stiffness", "load")
