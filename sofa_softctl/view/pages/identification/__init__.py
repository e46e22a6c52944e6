"""HTML page of an identification, a file for each section."""

from sofa_softctl.view.pages.identification.page import page
from sofa_softctl.view.pages.identification.prediction import CHANNELS_MAX, most_informative

__all__ = ["CHANNELS_MAX", "most_informative", "page"]
