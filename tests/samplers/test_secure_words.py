"""What makes releases unpredictable: every word comes from the kernel or from OpenSSL."""

import os
import ssl
from functools import partial

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.samplers import entropy as sources
from opendp_lite.samplers.entropy import SecureEntropy

NINE = dp.records(columns=9)
HUNDRED = dp.records(columns=100)
TOTAL = dp.clamp(0, 1) >> dp.sum()
PIPELINES = {
    "one number": (dp.records() >> dp.count() >> dp.laplace(epsilon=1e-4), 1, 1),
    "one float": (dp.records() >> TOTAL >> dp.gaussian(rho=0.5), 1, 1),
    "nine entries": (NINE >> TOTAL >> dp.laplace(epsilon=1), 9, 9),
    "a hundred entries": (HUNDRED >> TOTAL >> dp.gaussian(rho=0.5), 100, 100),
    "a hundred of Laplace": (HUNDRED >> TOTAL >> dp.laplace(epsilon=1), 100, 100),
    "the l2 mechanism": (
        NINE >> dp.clip_to_norm(1) >> dp.sum() >> dp.measurements.l2_mechanism(epsilon=1),
        9,
        9,
    ),
    "sum and count": (NINE >> dp.clamp(0, 1) >> dp.measurements.sum_and_count(epsilon=1), 9, 10),
    "a quantile": (
        dp.records() >> dp.private_quantile(0.5, bounds=(0, 1), rho=0.5, confidence=None),
        1,
        1,
    ),
    "two parts": (
        NINE >> dp.compose(TOTAL >> dp.laplace(epsilon=1), TOTAL >> dp.laplace(epsilon=1)),
        9,
        18,
    ),
}
"""A pipeline, the columns of its data, and the fewest draws that a release needs."""


class Spy:
    """A stand-in for both generators that can be repeated, and counts its bytes."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.bytes = 0

    def __call__(self, count: int) -> bytes:
        self.bytes += count
        return self.generator.bytes(count)


def released(name: str, seed: int, patch: pytest.MonkeyPatch) -> tuple[list[float], int]:
    """A release whose words are all the spy's, flat, and how many bytes it took."""
    pipeline, columns, _ = PIPELINES[name]
    spy = Spy(seed)
    with patch.context() as inside:
        inside.setattr(ssl, "RAND_bytes", spy)
        inside.setattr(os, "urandom", spy)
        release = pipeline(np.zeros((4, columns)))
    parts = release if isinstance(release, tuple) else (release,)
    return [float(x) for part in parts for x in np.atleast_1d(part)], spy.bytes


@pytest.mark.parametrize("name", PIPELINES)
def test_every_word_of_a_release_is_of_the_two_generators(name, monkeypatch):
    """The same bytes give the same release, others another, and each draw has 8 of its own."""
    first, count = released(name, 1, monkeypatch)
    again, _ = released(name, 1, monkeypatch)
    other, _ = released(name, 2, monkeypatch)
    assert first == again
    assert first != other
    assert count >= 8 * PIPELINES[name][2]


@pytest.mark.parametrize("name", PIPELINES)
def test_no_generator_of_numpy_takes_part(name, monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("a release asked numpy for random numbers")

    pipeline, columns, _ = PIPELINES[name]
    for generator in ("default_rng", "Generator", "PCG64", "PCG64DXSM", "Philox", "RandomState"):
        monkeypatch.setattr(np.random, generator, refused)
    pipeline(np.zeros((4, columns)))


def test_kernel_entropy_is_mixed_in_once_before_openssl_gives_words(monkeypatch):
    steps = []

    def given(count):
        steps.append("words")
        return bytes(count)

    monkeypatch.setattr(os, "urandom", lambda count: b"\x07" * count)
    monkeypatch.setattr(ssl, "RAND_add", lambda data, entropy: steps.append((data, entropy)))
    monkeypatch.setattr(ssl, "RAND_bytes", given)
    entropy = SecureEntropy()
    entropy.words(65)
    entropy.words(2**10)
    assert steps == [(b"\x07" * 32, 32.0), "words", "words"]


def test_few_words_come_straight_from_the_kernel(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda count: b"\x07" * count)
    monkeypatch.setattr(ssl, "RAND_bytes", None)
    entropy = SecureEntropy()
    assert entropy.words(64).tolist() == [0x0707070707070707] * 64
    assert entropy.word() == 0x0707070707070707


def test_another_process_is_given_no_word(monkeypatch):
    """A fork between two draws of a release would else release the second one again."""
    entropy = SecureEntropy()
    monkeypatch.setattr(sources, "this_process", object)
    for draw in (entropy.word, partial(entropy.words, 1), partial(entropy.words, 65)):
        with pytest.raises(dp.SpaceError, match="A fork of it"):
            draw()


@pytest.mark.parametrize("count", [100, 101, 200, 250])
def test_more_words_than_openssl_gives_at_a_time_are_asked_for_in_pieces(count, monkeypatch):
    given = []

    def next_bytes(size):
        first = sum(map(len, given)) // 8
        given.append(np.arange(first, first + size // 8, dtype=np.uint64).tobytes())
        return given[-1]

    monkeypatch.setattr(sources, "_PIECE", 100)
    monkeypatch.setattr(os, "urandom", lambda size: bytes(size) if size == 32 else next_bytes(size))
    monkeypatch.setattr(ssl, "RAND_add", lambda data, entropy: None)
    monkeypatch.setattr(ssl, "RAND_bytes", next_bytes)
    assert SecureEntropy().words(count).tolist() == list(range(count))
    assert max(map(len, given)) <= 800
