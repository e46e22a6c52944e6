"""A scene as controllers see it: rows, contacts, goals, channels, reports."""
