"""Where a library's motions are good, by its trials."""

import numpy as np
import pytest

from sofa_softctl.library.motions.trials import Coverage, Trial, Trials

PLACES = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]])
SCALE = np.array([1.0, 0.5])


def tried(seed, count, reach=(2.0, 1.0)):
    """Trials of two entries that pass within a distance, with errors that grow with it."""
    rng, found = np.random.default_rng(seed), []
    for entry in rng.integers(0, 2, count):
        p = PLACES[entry] + rng.uniform(-3.0, 3.0, 2) / SCALE
        apart = np.linalg.norm((p - PLACES[entry]) * SCALE)
        error = apart**2 * rng.exponential()
        found.append(Trial(p, int(entry), error, int(entry), bool(apart < reach[entry])))
    return found


def test_regions_are_as_wide_as_answers_passed():
    """Up to the furthest trial that passed: those beyond fail."""
    found = Coverage.from_trials(Trials.from_rows(tried(0, 4000), 2), PLACES, SCALE)
    assert found.radii[:2] == pytest.approx([2.0, 1.0], rel=0.01)
    assert found.radii[2] == 0.0  # never tried


def test_a_region_reaches_over_single_failures_and_not_to_them():
    trials = [Trial(np.array([x, 0.0]), 0, 0.0, 0, x != 0.5) for x in np.linspace(0.1, 4.0, 40)]
    trials.append(Trial(np.array([9.0, 0.0]), 0, 0.0, 0, False))
    assert Coverage.from_trials(Trials.from_rows(trials, 2), PLACES, SCALE).radii[
        0
    ] == pytest.approx(4.0)
    failed = [each._replace(passed=False) for each in trials]
    assert Coverage.from_trials(Trials.from_rows(failed, 2), PLACES, SCALE).radii[0] == 0.0


def test_fresh_answers_keep_to_the_expected_error():
    """95 %, to two standard errors of 2,000 tasks and of 200 in each interval; in any third of the
    distances too, where a mean would not do."""
    found = Coverage.from_trials(Trials.from_rows(tried(0, 2000), 2), PLACES, SCALE)
    fresh = tried(1, 2000)
    apart = [np.linalg.norm((each.p - PLACES[each.nearest]) * SCALE) for each in fresh]
    kept = np.array(
        [each.error <= found.expected_error(d) for each, d in zip(fresh, apart, strict=True)]
    )
    assert 0.94 < kept.mean() < 0.98
    for part in np.array_split(np.argsort(apart), 3):
        assert kept[part].mean() > 0.92
    assert found.expected_error(0.3) < 0.5 * found.expected_error(2.0)
    assert found.expected_error(99.0) == np.inf


def test_too_few_trials_say_nothing():
    found = Coverage.from_trials(Trials.from_rows(tried(0, 15), 2), PLACES, SCALE)
    assert found.expected_error(0.1) == np.inf
    none = Coverage.from_trials(Trials.from_rows([], 2), PLACES, SCALE)
    assert none.expected_error(0.0) == np.inf and not none.radii.any()


def test_files_hold_them_exactly():
    one, other = (Trials.from_rows(tried(seed, 9), 2) for seed in (0, 1))
    both = Trials.concatenate([Trials.from_bytes(each.to_bytes()) for each in (one, other)], 2)
    assert len(both) == 18
    for name in Trial._fields:
        wanted = np.concatenate((getattr(one, name), getattr(other, name)))
        np.testing.assert_array_equal(getattr(both, name), wanted)


def test_mirrored_tasks_count_at_the_distance_of_the_mirrored_entry():
    signs = np.array([-1.0, 1.0])
    trials = [Trial(np.array([-10.5, 0.0]), 1, 0.3, 1, True)]
    found = Coverage.from_trials(Trials.from_rows(trials, 2), PLACES, SCALE, signs)
    assert found.radii[1] == pytest.approx(0.5)
