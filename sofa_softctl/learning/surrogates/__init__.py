"""Tasks on surrogates: many robots in one process."""
