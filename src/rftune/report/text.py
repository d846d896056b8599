"""Text of users in figures."""

from __future__ import annotations


def literal(text: str) -> str:
    """A text as matplotlib draws it letter by letter: a dollar sign would begin a formula."""
    return text.replace("$", r"\$")
