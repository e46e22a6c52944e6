"""Sentences of messages."""


def sentence(text: str) -> str:
    """The text with a full stop at its end."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
