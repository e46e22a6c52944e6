"""Services for all objects: messages, timers, file paths."""
