"""Text that every reader of a ledger can read."""

from __future__ import annotations

from typing import Final

from opendp_lite.errors import ParameterError
from opendp_lite.exact import described

_MOST: Final = 2000


def checked_text(given: object, name: str) -> str:
    """A text that a file can hold."""
    if not isinstance(given, str) or "\0" in given:
        raise ParameterError(f"{name} must be text, got {described(given)}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{name} holds characters that no file can hold") from None
    return str.__str__(given)


def checked_line(given: object, name: str) -> str:
    """A line of text, without the space around it; it may be empty."""
    text = checked_text(given, name).strip()
    if len(text) > _MOST:
        raise ParameterError(f"{name} has at most {_MOST} characters, got {len(text)}")
    if not text.isprintable():
        raise ParameterError(f"{name} is one line, without line breaks or control characters")
    return text


def checked_words(given: object, name: str) -> str:
    """As ``checked_line``, of which something is left."""
    text = checked_line(given, name)
    if not text:
        raise ParameterError(f"{name} must say something: give a few words")
    return text
