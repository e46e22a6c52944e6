"""The report of an estimate, and its diagnostics."""
