"""HTML page of an identification, a file for each section."""

from sofa_softctl.view.pages.identification.page import drawn, page
from sofa_softctl.view.pages.identification.prediction import CHANNELS, most_telling

__all__ = ["CHANNELS", "drawn", "most_telling", "page"]
