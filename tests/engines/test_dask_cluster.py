"""A cluster of dask with processes of its own: the same integers, also where a worker dies."""

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.least_rows import SecretWords

distributed = pytest.importorskip("distributed", reason="needs pip install 'opendp_lite[dask]'")
dask = pytest.importorskip("dask")
arrays = pytest.importorskip("dask.array")

SECRET = "patient 42"
SUM = dp.clamp(-1000.0, 2000.0) >> dp.sum()
NUMBERS = np.random.default_rng(13).normal(5, 1e3, 401).repeat(3)
PARTS, LONG = 60, 0.03


@pytest.fixture(scope="module")
def client():
    """Two workers of one thread each, that are started again where they die."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def slow(rows: np.ndarray, seconds: float):
    """An array whose chunks take their time; what makes them travels by value."""

    def waited(block: np.ndarray) -> np.ndarray:
        time.sleep(seconds)
        return block

    waited.__module__ = "__main__"
    chunks = -(-len(rows) // PARTS)
    return arrays.from_array(rows, chunks=chunks).map_blocks(waited, dtype=float)


def test_workers_with_processes_of_their_own_give_the_same_integers(client):
    for query in (SUM, dp.count()):
        found = query(slow(NUMBERS, 0))
        assert np.asarray(found).tobytes() == np.asarray(query(NUMBERS)).tobytes()


def test_a_refusal_of_values_is_in_no_log(client):
    text = np.array([1.0, SECRET] * 9, dtype=object)
    with pytest.raises(dp.DataError, match="holds text"):
        SUM(arrays.from_array(text, chunks=5))
    logs = str(client.get_worker_logs())
    assert SECRET not in logs
    assert "Failed" not in logs


def test_a_worker_with_other_versions_refuses(client, monkeypatch):
    other = {"Python": "3.11", "opendp_lite": "9", "numpy": "1"}
    monkeypatch.setattr("opendp_lite.engines.containers.elsewhere.find_versions", lambda: other)
    with pytest.raises(dp.DataError, match="opendp_lite 9 here and"):
        SUM(slow(NUMBERS, 0))


SIZED = dp.records(size=len(NUMBERS), metric=dp.ChangeOneDistance()) >> dp.clamp(-1000.0, 2000.0)
CHOSEN = SIZED >> dp.resize(200) >> dp.sum() >> dp.laplace(epsilon=1)


def while_a_worker_dies(client, work):
    """What work gives, while a worker that is busy and holds results is killed."""
    pids = client.run(os.getpid)
    killed: dict[str, float] = {}
    ended = threading.Event()

    def kill() -> None:
        while not ended.is_set():
            doing, held = client.processing(), client.has_what()
            for worker, pid in pids.items():
                if doing.get(worker) and len(held.get(worker, ())) > 5:
                    killed.update(at=time.monotonic(), doing=len(doing[worker]))
                    os.kill(pid, signal.SIGKILL)
                    return
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = work()
        done = time.monotonic()
    finally:
        ended.set()
        killer.join()
    assert killed["doing"] > 0
    assert killed["at"] < done
    return found


def test_a_worker_that_dies_while_it_is_busy_changes_nothing(client, monkeypatch):
    """Neither the number of rows, which is checked, nor which rows the secret keys choose."""
    secrets: list[SecretWords] = []
    drawn = SecretWords.of
    monkeypatch.setattr(SecretWords, "of", lambda keys: secrets.append(drawn(keys)) or secrets[-1])
    with dask.config.set(scheduler="sync"):
        expected = CHOSEN.insecure_release(slow(NUMBERS, 0), 7).value
    chosen = partial(CHOSEN.insecure_release, slow(NUMBERS, LONG), 7)
    found = while_a_worker_dies(client, chosen).value
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    logs = str(client.get_worker_logs())
    assert not any(
        word in logs for each in secrets for word in (str(each.secret), each.secret.hex())
    )


def test_a_worker_that_dies_while_it_is_busy_changes_neither_a_sum_nor_its_loss(client):
    """The noise is far below a step of the grid that rows are rounded to."""
    least = SUM >> dp.laplace(epsilon=1e14)
    found, spent = [], []
    for seconds, run in ((LONG, partial(while_a_worker_dies, client)), (0, lambda work: work())):
        session = dp.session(slow(NUMBERS, seconds), budget=dp.epsilon(3e14))
        found.append(run(partial(session, least)).value)
        spent.append(session.spent)
    total = SUM.bind(dp.records())
    step = 2.0**total.output_space.domain.exponent
    exact = total.function(total.input_space.domain.to_internal(NUMBERS)).steps.tolist()
    assert [round(each.item() / step) for each in found] == 2 * exact
    assert spent == [1e14, 1e14]
