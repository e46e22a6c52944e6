import os

from sofa_softctl.base.memory import available_memory


def test_some_of_the_memory_is_available():
    """More than this process needs, at most all of it."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 1e6 < available_memory() <= total
