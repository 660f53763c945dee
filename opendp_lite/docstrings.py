"""What a docstring says of a step: its first sentence, a section, and the sources it cites."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from textwrap import dedent
from typing import Any, Final

_SECTION: Final = re.compile(r"^([A-Z][a-z]+):\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
_PARAMETER: Final = re.compile(r"^\*{0,2}(\w+): ((?:.*\n)(?: +.*\n|\n)*)", re.MULTILINE)
_NAME: Final = r"[A-Z][a-z]+(?:[A-Z][a-z]+)?"
_NAMES: Final = rf"{_NAME}(?:(?:, (?:and )?| and )(?:{_NAME}|others))*"
_PLACE: Final = r"(?:theorem|proposition|lemma|corollary|algorithm|section|appendix|listing)s?"
_PART: Final = rf",? (?:and )?{_PLACE} [A-Z]?\d*(?:\.\d+)*(?: and (?:\d+(?:\.\d+)*|{_PLACE} \d+))?"
_TITLE: Final = rf"Free Lunch(?: \({_NAMES}\))?|{_NAME}, \*[^*]+\*"
_SOURCE: Final = re.compile(rf"(?:{_NAMES},? (?:19|20)\d\d|{_TITLE})(?:{_PART})*")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z*`])")


@lru_cache(maxsize=1024)
def _parts(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The text before the sections, and each section, as it stands."""
    text = f"{inspect.getdoc(function) or ''}\n"
    sections = {name: dedent(body) for name, body in _SECTION.findall(text)}
    return _SECTION.split(text, maxsplit=1)[0], sections


def plain(text: str) -> str:
    """A text on one line, without the marks of code.

    Example:
        >>> plain("The ``sum``\\n    of rows.")
        'The sum of rows.'
    """
    return " ".join(text.replace("`", "").replace("**", "").split())


def summary(function: Callable[..., Any]) -> str:
    """The first paragraph of a docstring; empty where there is none."""
    return plain(_parts(function)[0].strip().partition("\n\n")[0])


def section(function: Callable[..., Any], name: str) -> str:
    """A section of a docstring, such as "Proof", on one line; empty where there is none.

    Example:
        >>> import opendp_lite as dp
        >>> section(dp.impute, "Proof")
        'Row by row (row_map).'
    """
    return plain(_parts(function)[1].get(name, ""))


def parameters(function: Callable[..., Any]) -> dict[str, str]:
    """What the section "Args" says of each parameter, on one line.

    Example:
        >>> import opendp_lite as dp
        >>> parameters(dp.impute)
        {'value': 'What to put there. A number for all columns, or one for each.'}
    """
    found = _PARAMETER.findall(_parts(function)[1].get("Args", ""))
    return {name: plain(text) for name, text in found}


def sentences(text: str) -> list[str]:
    """The sentences of a text on one line."""
    return [each for each in _SENTENCE.split(text) if each]


def sources(proof: str) -> tuple[str, ...]:
    """The papers that a proof cites, each with its theorem.

    Example:
        >>> sources("Parallel composition (McSherry 2009, theorem 4). As in Dwork and Roth 2014.")
        ('McSherry 2009, theorem 4', 'Dwork and Roth 2014')
    """
    return tuple(dict.fromkeys(_SOURCE.findall(proof)))
