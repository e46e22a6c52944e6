"""Learning tasks: observations, actions, episodes, and the environment of a scene."""
