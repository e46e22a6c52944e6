"""States of bodies."""
