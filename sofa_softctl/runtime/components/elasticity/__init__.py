"""Force fields of elastic bodies."""
