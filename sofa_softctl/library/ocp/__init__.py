"""Optimal control problems: transcription, solution, sensitivities."""
