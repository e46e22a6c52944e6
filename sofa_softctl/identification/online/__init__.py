"""Moving-horizon estimation in a running scene."""
