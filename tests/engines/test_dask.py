"""The same exact integers before noise from collections of dask, however they are cut."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opendp_lite as dp

dask = pytest.importorskip("dask", reason="needs dask: pip install 'opendp_lite[dask]'")
arrays = pytest.importorskip("dask.array")

ROWS = 1203
_generator = np.random.default_rng(13)
NUMBERS = _generator.normal(5, 1e3, ROWS // 3 + 1).repeat(3)[:ROWS]
"""Rows that repeat, of any number of digits."""
NUMBERS[::7] = np.nan
NUMBERS[5:9] = [2.0**-1074, -0.0, 2.0**60, np.inf]
SUM = dp.clamp(-1000.0, 2000.0) >> dp.sum()


@pytest.fixture(autouse=True)
def _one_process() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


def exact(query: Any, data: Any) -> bytes:
    """What a query gives, to the last bit."""
    return np.asarray(query(data)).tobytes()


@pytest.mark.parametrize("rows", [ROWS, 1000, 97, 11])
def test_every_chunking_of_an_array_gives_the_same_integers(rows: int) -> None:
    for query in (SUM, dp.count(), dp.clamp(-1, 2) >> dp.square() >> dp.sum()):
        assert exact(query, arrays.from_array(NUMBERS, chunks=rows)) == exact(query, NUMBERS)
    both = dp.records(columns=3) >> dp.clip_to_norm(100.0) >> dp.sum()
    wide = NUMBERS.reshape(-1, 3)
    for columns in (1, 2, 3):
        cut = arrays.from_array(wide, chunks=(rows, columns))
        assert exact(both, cut) == exact(both, wide)


def test_what_is_sent_knows_nothing_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def dumps(work: Any) -> bytes:
        sent.append(pickle.dumps(work))
        return sent[-1]

    monkeypatch.setattr("cloudpickle.dumps", dumps)
    release = SUM >> dp.gaussian(rho=1)
    assert release(arrays.ones(10, chunks=5)) != release(arrays.ones(10, chunks=5))
    assert len(sent) == 2
    assert not any(word in code for code in sent for word in (b"samplers", b"measurements"))
