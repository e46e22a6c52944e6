"""Pages of the documentation, for its tests: their text, their code, what they link to."""

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
"""Every page, and the README."""


def text(page):
    """Text of a page, such as 'how-to/choose-contacts'."""
    return (DOCS / f"{page}.md").read_text()


def blocks(page, language="python"):
    """The code blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", text(page), re.DOTALL)


def run(*pages, **names):
    """What the Python code of some pages defines, run in their order."""
    for page in pages:
        for number, block in enumerate(blocks(page)):
            exec(compile(block, f"{page}.md, block {number}", "exec"), names)
    return names


def command_lines(path):
    """The lines of a page's code blocks that begin with softctl, with the lines they go on in."""
    page = path.read_text()
    fences = re.findall(r"^```([^\n]*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    shown = [body for language, body in fences if language in ("", "sh")]
    shown += [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n)+", page, re.MULTILINE)]
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("softctl ")]


def anchors(path):
    """What links to headings of a page may end with, as GitHub and MyST make it."""
    page = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(target, start):
    """Whether a link such as '../a.md#b' in a page of the folder `start` has an end."""
    name, _, anchor = target.partition("#")
    path = (start / name).resolve()
    return path.is_file() and (not anchor or anchor in anchors(path))
