"""Links of the pages, and pages that messages name, lead somewhere."""

import re

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, anchors, leads_somewhere

SOURCES = [
    path
    for folder in ("sofa_softctl", "scenes", "plugins", "tests")
    for path in (ROOT / folder).rglob("*.py")
]
TEXTS = [*SOURCES, *PAGES, *(ROOT / name for name in ("CHANGELOG.md", "Makefile", "NOTICE"))]
FILE = re.compile(
    r"(?<![\w/.-])(?:sofa_softctl|scenes|plugins|tests|docs)/[\w/.-]*\w\.(?:py|md|npz)\b"
)
PAGE = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md(?:#[\w-]+)?")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(path):
    page = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", page)
    broken = [
        target
        for target in targets
        if not target.startswith("https://")
        and not leads_somewhere(path.name + target if target[0] == "#" else target, path.parent)
    ]
    assert not broken


def test_every_page_that_the_code_names_is_there_with_its_heading():
    named = {(path, page) for path in TEXTS for page in PAGE.findall(path.read_text())}
    pages = {page for path, page in named if "sofa_softctl" in path.parts}
    assert len(pages) >= 3  # messages do name pages
    assert not [(str(path), page) for path, page in named if not leads_somewhere(page, ROOT)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_page_names_is_there(path):
    page = path.read_text()
    made = {"scenes/my_finger.py", *re.findall(r"new file, `([^`]+)`", page)}  # by the reader
    assert not [name for name in set(FILE.findall(page)) - made if not (ROOT / name).exists()]


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for path in PAGES:
        for block in re.findall(r"```{toctree}\n(.*?)```", path.read_text(), re.DOTALL):
            names = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(path.parent / f"{name}.md").resolve() for name in names}
    alone = {ROOT / "README.md", DOCS / "index.md", DOCS / "figures" / "README.md"}
    assert listed == set(PAGES) - alone


def test_every_picture_is_shown_and_says_how_it_is_made():
    made = (DOCS / "figures" / "README.md").read_text()
    shown = "".join(path.read_text() for path in PAGES if path.parent.name != "figures")
    for path in (DOCS / "figures").iterdir():
        if path.suffix in (".png", ".gif"):
            assert f"`{path.name}`" in made
            assert f"figures/{path.name})" in shown


def test_anchors_are_those_of_headings():
    assert "licence-and-a-patent-that-you-should-know-of" in anchors(ROOT / "README.md")
    assert not leads_somewhere("README.md#nothing", ROOT)
    assert not leads_somewhere("nothing.md", DOCS)
