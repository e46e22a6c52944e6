"""Sphinx: `make docs` builds these pages into out/docs, with warnings as errors."""

import os
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]
os.environ["SOFTCTL_BACKEND"] = "embedded"  # autodoc imports controllers, which import Sofa

project = "sofa_softctl"
author = "the authors of sofa_softctl"
copyright = "2026, the authors of sofa_softctl"

extensions = ["myst_parser", "sphinx.ext.autodoc", "command_help", "plain_docstrings"]
exclude_patterns = ["figures/README.md"]
html_theme = "furo"
html_title = "sofa_softctl"
html_static_path = ["_static"]
html_css_files = ["width.css"]
html_show_sphinx = False
html_show_sourcelink = False

myst_heading_anchors = 4

default_role = "code"  # docstrings write `name`, as Markdown does
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True


def setup(sphinx):
    """Pygments has no lexer for CSV."""
    sphinx.add_lexer("csv", TextLexer)
