"""What a refusal may say: the words that are expected, and nothing of the data."""

import re
import traceback
from collections.abc import Callable

import pytest

import opendp_lite as dp

SECRET = "patient 42"
"""A cell of a person, which no refusal shows."""


def refusal(run: Callable[[], object], words: str | None = None, secret: str = SECRET) -> str:
    """The message of the ``DataError``; nothing that led to it shows a secret."""
    with pytest.raises(dp.DataError, match=words) as caught:
        run()
    problem: BaseException | None = caught.value
    while problem is not None:
        shown = "".join(traceback.format_exception_only(problem)) + repr(problem)
        assert secret not in re.sub(r"pytest-\d+", "", shown)
        problem = problem.__cause__ or problem.__context__
    return str(caught.value)
