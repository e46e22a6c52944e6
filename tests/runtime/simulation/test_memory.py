"""Memory of arrays that are freed in a step."""

import sys

import pytest

KEPT = """
    import resource
    import numpy as np
    from sofa_softctl.runtime.core.node import Node
    from sofa_softctl.runtime.simulation import simulation

    if {init}:
        simulation.init(Node("root"))
    np.ones(10**6)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        np.ones(10**6)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the allocator of glibc is meant")
def test_freed_arrays_are_kept_for_later_ones(fresh):
    """8 MB are 1,953 pages, which the system clears anew each time if they were given back."""
    faults = [int(fresh(KEPT.format(init=init)).stdout.split()[-1]) for init in (False, True)]
    assert faults[1] < 2000
    assert faults[0] > 10 * faults[1]
