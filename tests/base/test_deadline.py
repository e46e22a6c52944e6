"""Deadlines: work asks for them, and the innermost one counts."""

import pytest

from sofa_softctl.base.deadline import check_time, deadline
from sofa_softctl.errors import TimeLimitError


def test_only_work_in_a_block_whose_time_has_passed_is_stopped():
    check_time()
    with deadline(-1.0):
        with pytest.raises(TimeLimitError):
            check_time()
        with deadline(1000.0):
            check_time()
        with pytest.raises(TimeLimitError):
            check_time()
    with deadline(None):
        check_time()
    check_time()
