"""Connections and files wait for garbage to be looked for: in tests of engines that is as usual.

With the threshold of all other tests (tests/conftest.py) a server had too many clients.
"""

import gc
from collections.abc import Iterator

import pytest

from opendp_lite.engines import rows
from opendp_lite.engines.data import expressions


@pytest.fixture(autouse=True, scope="module")
def look_for_garbage_as_usual() -> Iterator[None]:
    rarely = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*rarely)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether an engine answered, of each pass over its rows."""
    found: list[bool] = []

    def compute(*given) -> list[object] | None:
        answer = expressions.compute(*given)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(rows, "compute", compute)
    return found
