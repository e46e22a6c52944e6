import numpy as np
import pytest

from sofa_softctl.qp.problem import QP, kkt_residual, no_solution

INF = np.inf
# minimise 1/2 (x0 - 2)^2 + 1/2 (x1 - 1)^2 with x0 <= 1 and x0 + x1 >= 1: x = (1, 1), y_0 = 1
PLANE = QP(
    H=np.eye(2),
    g=np.array([-2.0, -1.0]),
    A=np.array([[1.0, 1.0]]),
    lower=np.array([-INF, -INF, 1.0]),
    upper=np.array([1.0, INF, INF]),
)
X = np.array([1.0, 1.0])
Y = np.array([1.0, 0.0, 0.0])


def test_the_residual_of_an_optimum_is_zero():
    assert kkt_residual(PLANE, X, Y) == 0.0


@pytest.mark.parametrize(
    ("what", "x", "y", "expected"),
    [
        # (1, 1.25) with y_0 = 1: the gradient of x1 is 0.25; divided by |x| = 1.25
        ("stationarity", [1.0, 1.25], [1.0, 0.0, 0.0], 0.25 / 1.25),
        # x0 exceeds its limit by 1, stationary without multiplier; |x| = 2
        ("an exceeded limit", [2.0, 1.0], [0.0, 0.0, 0.0], 1.0 / 2.0),
        # stationary, but 0.5 away from the limit that the multiplier 1.5 belongs to; |y| = 1.5
        ("complementarity", [0.5, 1.0], [1.5, 0.0, 0.0], 0.5 / 1.5),
        # x = (1, 1.5) by a positive multiplier -0.5 + ... on a row with a lower limit only
        ("a multiplier of the wrong sign", [1.0, 0.5], [0.5, 0.0, 0.5], 0.5),
    ],
)
def test_each_condition_alone_is_seen(what, x, y, expected):
    """Worked out by hand; exact in binary fractions but for the division, so 1e-15."""
    residual = kkt_residual(PLANE, np.array(x), np.array(y))
    assert residual == pytest.approx(expected, abs=1e-15), what


def test_an_equality_takes_multipliers_of_either_sign():
    line = QP(np.eye(1), np.zeros(1), np.zeros((0, 1)), np.array([3.0]), np.array([3.0]))
    assert kkt_residual(line, np.array([3.0]), np.array([-3.0])) == 0.0
    line = QP(np.eye(1), np.zeros(1), np.zeros((0, 1)), np.array([-3.0]), np.array([-3.0]))
    assert kkt_residual(line, np.array([-3.0]), np.array([3.0])) == 0.0


@pytest.mark.parametrize("bad", [np.nan, INF, 1e200])
def test_garbage_has_an_infinite_residual_and_no_warning(bad):
    assert kkt_residual(PLANE, np.array([1.0, bad]), Y) == INF
    assert kkt_residual(PLANE, X, np.array([1.0, 0.0, bad])) == INF


def test_an_answer_of_another_size_has_an_infinite_residual():
    assert kkt_residual(PLANE, np.ones(3), Y) == INF
    assert kkt_residual(PLANE, X, np.ones(2)) == INF


def test_no_answer_cannot_be_mistaken_for_one():
    result = no_solution(PLANE, "failed", 3, "it gave up")
    assert kkt_residual(PLANE, result.x, result.y) == INF
