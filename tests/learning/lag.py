"""A surrogate with an answer in closed form: a place that follows what is asked with a lag."""

import numpy as np

from sofa_softctl.learning import BatchTask, DecisionResult, Interface, Quantities


class Lag(BatchTask):
    """x+ = x + share (u - x); the goal, u and x from -1 to 1. Below `edge` the map ends."""

    interface = Interface(
        Quantities(("place", "goal"), ("mm", "mm"), -np.ones(2), np.ones(2)),
        Quantities(("pull",), ("mm",), -np.ones(1), np.ones(1)),
        interval=0.1,
    )

    def __init__(self, decisions=8, share=0.5, edge=-np.inf):
        self.decisions, self.share, self.edge = decisions, share, edge

    def begin(self, random, count):
        return random.uniform(-0.9, 0.9, (count, 2))

    def advance(self, state, action):
        after = state.copy()
        after[:, 0] += self.share * (action[:, 0] - state[:, 0])
        return DecisionResult(after, after[:, 0] >= self.edge)

    def observe(self, state):
        return state

    def reward(self, before, action, after):
        return -np.abs(after[:, 0] - after[:, 1])

    def lost_reward(self, state):
        return np.full(len(state), -5.0)
