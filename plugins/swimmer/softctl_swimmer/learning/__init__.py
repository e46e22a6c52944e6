"""Swimmers that learn: many at once, on the map of their mass matrix or on the flow itself.

Importing it registers `softctl/Swimmer-v0` with Gymnasium, so that it is made by
`gymnasium.make("softctl_swimmer.learning:softctl/Swimmer-v0")`.
"""

from softctl_swimmer.learning.registration import register

register()
