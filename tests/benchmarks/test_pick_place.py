"""The study of the elastic arm's libraries, with one that is built in seconds."""

import pytest

from benchmarks import pick_place

pytestmark = pytest.mark.study


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library that is done when 30 tasks in a row need no new motion."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pick_place, "FAILURE_RATE", 0.3)
        return pick_place.built(tmp_path_factory.mktemp("library"), 0)


def test_the_study_counts_what_is_caught(library):
    caught, far, said = pick_place.run(library, 0.0, "")
    assert caught == 3 and 0.0 < far < 15.0 and said == ""
    caught, _, said = pick_place.run(library, 1.0, 3)
    assert caught < 3 and "the hand would" in said
