"""Makes docs/figures/identification.png: the report of the finger of the how-to page.

The finger of docs/how-to/identify-a-model.md is recorded twice in simulation, a motion is designed,
and parts of the report are photographed by Chromium. Needs chromium on the PATH. Run:
`python docs/figures/identification.py`
"""

import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "how-to" / "identify-a-model.md"
SIZE = (1000, 2400)
"""Width and height of the picture [px]."""
SHOWN = ("Parameters", "Measured and predicted", "What to record next")
"""Sections in the picture."""


def record(folder):
    """Write the page's problem and its recording, and another one to hold out."""
    problem, simulated, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "my_robot.py").write_text(problem)
    names = {"__name__": "my_robot"}
    exec(problem + simulated, names)
    time = np.arange(301) / 50.0
    pressure = 10.0 + 10.0 * np.sin(2.0 * time + 0.5 * time**2)
    blank = names["Recording"]("", time, pressure[:, None], np.full((301, 1), np.nan))
    bend = names["FingerProblem"]().experiment(blank).outputs(names["rho"])[:, 0]
    random = np.random.default_rng(1)
    bend = bend + 0.2 * random.standard_normal(301)
    pressure = pressure + 0.1 * random.standard_normal(301)
    table = np.column_stack([time, pressure, bend])
    np.savetxt("chirp.csv", table, delimiter=", ", header=names["header"], comments="")


def shorten(text):
    """The page with the sections that are shown, and no others."""
    sections = re.findall(r"<section>.*?</section>", text, re.DOTALL)
    for one in sections:
        if not any(f"<h2>{title}</h2>" in one for title in SHOWN):
            text = text.replace(one, "")
    return text


if __name__ == "__main__":
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("chromium is not installed: expected `chromium` or `google-chrome` on the PATH.")
    with tempfile.TemporaryDirectory() as name, chdir(name):
        record(Path(name))
        command = "identify my_robot.py --data bend.csv --hold-out chirp.csv --report found"
        words = [*command.split(), "--design", "motion.csv"]
        subprocess.run([sys.executable, "-m", "sofa_softctl.cli", *words], check=True)
        text = Path("found/report.html").read_text()
        Path("found/report.html").write_text(shorten(text))
        subprocess.run(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                "--blink-settings=preferredColorScheme=1",
                f"--window-size={SIZE[0]},{SIZE[1]}",
                f"--screenshot={HERE / 'identification.png'}",
                Path("found/report.html").resolve().as_uri(),
            ],
            check=True,
        )
