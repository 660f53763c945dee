"""Rows chosen by random keys in the parts where they lie: the same law, however they are cut."""

import pickle
import subprocess
import sys
import warnings
from collections import Counter
from datetime import time
from decimal import Decimal
from itertools import combinations

import attrs
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.engines.containers.elsewhere import SentWork
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.least_rows import SecretWords
from opendp_lite.engines.rows import materialise
from opendp_lite.engines.sampling import rules
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.testing.stable import change_one_distance, symmetric_distance
from tests.engines.refusals import SECRET, refusal

SURE = 1e-7
"""How often a chi-square test here would fail by chance; its seed is fixed as well."""
NAN = np.nan
NAMES = ["id", "city", "x"]
PEOPLE = dp.records(columns=NAMES, person="id")
THREE = dp.records(columns=3)
LIMITED = dp.select("x") >> dp.clamp(-1e6, 1e6)


@attrs.frozen(eq=False, repr=False)
class InParts(Blocks):
    """Rows of which each block is a part on a machine of its own, merged in order or backwards."""

    times: int = attrs.field(default=1, kw_only=True)
    turn: int = attrs.field(default=1, kw_only=True)

    @property
    def library(self) -> str:
        return "a test"

    def summary(self, rows, job, merge):
        warnings.warn("of a library", FutureWarning, stacklevel=1)
        work = SentWork.of(rows, job, merge, pickle.dumps)
        level = [self._found(work, place, part) for place, part in enumerate(self.open())]
        while len(level) > 1:
            starts = range(0, len(level), 3)
            level = [work.merge(level[start : start + 3][:: self.turn]) for start in starts]
        return level[0].value()

    def _found(self, work: SentWork, place: int, part):
        """What is found each time that a part is computed; it must be the same."""
        (found,) = {pickle.dumps(work.of_part(place, [part])) for _ in range(self.times)}
        return pickle.loads(found)


def in_parts(parts, **how: int) -> InParts:
    return InParts(lambda: parts, None, **how)


def kept(step, data, keys, space=PEOPLE) -> np.ndarray:
    """The rows that a step keeps, for given random words."""
    bound = space >> step
    admitted = attrs.evolve(bound.input_space.domain.to_internal(data), keys=keys)
    columns = bound.output_space.domain.columns
    return materialise(bound.function(admitted).numbers()).reshape(-1, columns)


def seed(places: np.ndarray) -> np.ndarray:
    """Four words, which make a secret."""
    return np.arange(7, 7 + len(places), dtype=np.uint64)


def words_of(sizes: list[int]) -> np.ndarray:
    """The words of the rows of parts of these sizes, for this secret."""
    streams = [SecretWords.of(seed).of_rows(part, "") for part in range(len(sizes))]
    return np.concatenate([words(np.arange(n)) for words, n in zip(streams, sizes, strict=True)])


def people(rows: int) -> np.ndarray:
    """Rows that repeat, of people who have several in several parts."""
    generator = np.random.default_rng(13)
    return generator.integers(0, [rows // 4, 3, 4], (rows, 3)).astype(float)


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("cuts", [[], [5], [0, 1, 1, 90, 200], list(range(7, 300, 13))])
def test_the_rows_are_those_that_one_process_keeps_with_the_same_keys(monkeypatch, rows, cuts):
    monkeypatch.setattr(rules, "_WAITING", 8)  # So that rows are left out as they come, too.
    data = people(300)
    parts = np.split(data, cuts)
    words = words_of([len(part) for part in parts])
    step = dp.bound_contributions(rows)
    here, cut = kept(step, data, lambda places: words[places]), in_parts(parts, times=2)
    assert symmetric_distance(here, kept(step, cut, seed)) == 0
    resized = kept(dp.resize(10 * rows, fill=9), cut, seed, THREE)
    filled = np.full((max(0, 10 * rows - 300), 3), 9.0)
    least = np.concatenate([data[np.argsort(words)[: 10 * rows]], filled])
    assert symmetric_distance(resized, least) == 0


def test_a_word_is_the_same_however_many_are_asked_for():
    secret = SecretWords(bytes(32))
    whole = secret.of_rows(3, "")(np.arange(20_000))
    pieces = secret.of_rows(3, "")
    assert np.array_equal(
        whole, np.concatenate([pieces(np.arange(n)) for n in (1, 0, 4095, 15904)])
    )
    others = [secret.of_rows(4, ""), SecretWords(b"1" * 32).of_rows(3, "")]
    assert not any(np.isin(whole, other(np.arange(20_000))).any() for other in others)
    named = secret.of_names([b"a", b"b", b"a"])
    first, second = named(np.arange(3)), named(np.array([0, 1]))
    assert first[0] == first[2] != first[1]
    assert not np.isin(second, first).any()
    assert first[:2].tolist() == secret.of_names([b"a", b"b"])(np.arange(2)).tolist()


class Given:
    """Words for the rows of each part, in place of those of a secret."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts: list[np.ndarray] = []
        monkeypatch.setattr(SecretWords, "of_rows", lambda _, part, step: self._of(part))

    def _of(self, part: int):
        left = iter(self.parts[part].tolist())
        return lambda places: np.array([next(left) for _ in places], dtype=np.uint64)


def test_a_row_moves_no_more_than_the_maps_say_for_any_keys(monkeypatch):
    """Shared rows have shared keys, of which many are level."""
    given, generator = Given(monkeypatch), np.random.default_rng(3)
    worst: Counter[str] = Counter()

    def found(stays, turn: int = 1) -> tuple[np.ndarray, np.ndarray]:
        masks = [(at == part) & stays for part in range(3)]
        given.parts = [words[mask] for mask in masks]
        cut = in_parts([rows[mask] for mask in masks], turn=turn)
        limited = kept(dp.bound_contributions(2), cut, seed)
        return limited, kept(dp.resize(3, fill=0), cut, seed, THREE)

    for _ in range(50):
        rows = generator.integers(0, [2, 2, 9], (6, 3)).astype(float)
        words, at = generator.integers(0, 3, 6), np.sort(generator.integers(0, 3, 6))
        gone = generator.integers(6)
        whole, backwards = found(at >= 0), found(at >= 0, turn=-1)
        row, person = found(np.arange(6) != gone), found(rows[:, 0] != rows[gone, 0])
        assert not any(map(symmetric_distance, whole, backwards)), "level keys go by the places"
        worst["row"] = max(worst["row"], symmetric_distance(whole[0], row[0]))
        worst["person"] = max(worst["person"], symmetric_distance(whole[0], person[0]))
        worst["size"] = max(worst["size"], change_one_distance(whole[1], row[1]))
    assert worst == {"row": 2, "person": 2, "size": 1}


def is_even(counts, possible: int) -> None:
    counts = [*counts, *[0] * (possible - len(counts))]
    expected = sum(counts) / possible
    assert sum((count - expected) ** 2 for count in counts) / expected < chi2.isf(
        SURE, possible - 1
    )


def test_each_choice_is_equally_likely():
    """Of a person's rows and of its groups, and of all rows."""
    count, rows = 1000, np.arange(6)
    columns = np.repeat(np.arange(count), 6), np.tile(rows // 2, count), np.tile(rows, count)
    data = np.column_stack(columns).astype(float)
    parts = np.array_split(data[np.random.default_rng(0).permutation(len(data))], 5)
    entropy = InsecureSeededEntropy(5)

    def keys(places):
        return entropy.words(len(places))

    def chosen(step, column: int):
        found = kept(step, in_parts(parts), keys)
        by_person = pd.DataFrame(found).groupby(0)[column]
        return Counter(tuple(sorted(set(values))) for _, values in by_person).values()

    is_even(chosen(dp.bound_contributions(2), 2), len(list(combinations(rows, 2))))
    is_even(chosen(dp.bound_contributions(1, groups=("city", 1)), 2), 6)
    of_all = Counter(
        tuple(sorted(kept(dp.resize(2), in_parts([[0.0], [1.0, 2.0, 3.0]]), keys, SMALL)[:, 0]))
        for _ in range(240)
    )
    is_even(of_all.values(), 6)


SMALL = dp.records() >> dp.clamp(0, 5)


def test_groups_of_a_person_are_at_most_so_many():
    data = people(400)
    data[::9, 1] = NAN
    found = kept(dp.bound_contributions(1, groups=("city", 2)), in_parts(np.split(data, 8)), seed)
    counts = Counter(map(tuple, np.nan_to_num(found[:, :2], nan=-1).tolist()))
    assert set(counts.values()) == {1}
    assert max(Counter(person for person, _ in counts).values()) == 2


def test_people_are_sampled_with_all_of_their_rows_wherever_these_lie():
    data = pd.DataFrame(people(600), columns=NAMES)
    data["id"] = data["id"].astype(int)
    texts = data.assign(id="p" + data["id"].astype(str))
    look = dp.bound_contributions(600) >> LIMITED >> dp.count() >> dp.laplace(epsilon=1e5)
    for given in (data, texts):
        sizes = given.groupby("id").size()
        cut = [given[n::7] for n in range(7)]
        everyone = PEOPLE >> dp.sample(1, look)
        assert abs(everyone(in_parts(cut)) - 600) <= 1
        first, again = (
            (PEOPLE >> dp.sample(0.5, look)).insecure_release(in_parts(parts), 3).value
            for parts in (cut, cut[::-1])
        )
        assert first == again, "the coin of a person does not depend on the part"
        assert 0 < first < 600
    assert sizes.max() > 1


def test_a_row_is_in_a_sample_by_its_own_coin():
    data = np.arange(20_000) % 7.0
    look = dp.clamp(0, 9) >> dp.count() >> dp.laplace(epsilon=200)
    cut = in_parts(np.split(data, 10))
    rows = dp.records() >> dp.sample(0.1, look)
    table = dp.records(columns=["x"]) >> dp.sample(0.1, dp.select("x") >> look)
    for release in (rows, table):
        found = [release.insecure_release(cut, n).value for n in (1, 1, 2)]
        assert found[0] == found[1] != found[2]
        assert all(abs(each - 2000) < 6 * (20_000 * 0.09) ** 0.5 for each in found)


@pytest.mark.parametrize(
    ("ids", "distinct"),
    [
        ([[5, 6], [5.0, NAN], [6]], 2),
        ([["a", "b"], [None, "a"]], 2),
        ([[2**60, 2**60 + 1], [2**60], [2**60 + 1]], 2),
        ([[Decimal("0.5")], [0.5], [Decimal("0.50")]], 1),
        ([[-3, b"a"], [b"a", -3.0]], 2),
        ([[2.5, 0.1], [np.float32(2.5)], [np.float32(0.1), np.longdouble(2.5)]], 3),
        ([[pd.Timestamp("2026-01-02")], [pd.Timestamp("2026-01-02")]], 1),
        # Whether there is one that no other machine knows again decides on no refusal.
        ([["a", time(5), frozenset()], [Decimal("inf"), object, "a"], ["b"]], 2),
        ([["a", Decimal("1e999999999")], ["a"]], 1),
    ],
    ids=str,
)
def test_an_id_is_the_same_in_every_part(ids, distinct):
    parts = [{"id": each, "city": [0] * len(each), "x": [1.0] * len(each)} for each in ids]
    frames = [pd.DataFrame({**part, "id": pd.Series(part["id"], dtype=object)}) for part in parts]
    counted = dp.bound_contributions(1) >> LIMITED >> dp.count()
    for given in (parts, frames):
        assert (PEOPLE >> counted)(in_parts(given)) == distinct


REFUSED = [
    (
        [pd.DataFrame({"id": ids, "city": 0, "x": 1.0}) for ids in ([SECRET], [5])],
        "'id': it holds text in one block and numbers",
    ),
    ([pd.DataFrame({"id": [1], "city": [SECRET], "x": SECRET})], "'x': data holds text"),
]


@pytest.mark.parametrize(("parts", "words"), REFUSED, ids=lambda value: str(value)[:20])
def test_refusals_are_ours_and_tell_nothing(parts, words):
    for step in (
        dp.bound_contributions(2) >> LIMITED >> dp.sum(),
        dp.sample(0.999999, dp.bound_contributions(2) >> LIMITED >> dp.sum() >> QUIET),
    ):
        refusal(lambda step=step: (PEOPLE >> step)(in_parts(parts)), words)


QUIET = dp.laplace(epsilon=1)


def test_parts_that_are_not_counted_would_share_their_keys():
    with pytest.raises(dp.DataError, match=r"resize draws .* which part"):
        SecretWords(bytes(32)).of_rows(None, "resize")


def test_a_declared_size_is_that_of_all_parts():
    sized = dp.records(columns=NAMES, size=9, metric=dp.ChangeOneDistance())
    step = sized >> dp.bound_contributions(2, person="id") >> dp.count()
    assert step(in_parts(np.split(people(9), 3))) > 0
    with pytest.raises(dp.DataError, match="another number of rows"):
        step(in_parts(np.split(people(12), 3)))


def test_a_secret_is_not_shown():
    secret = SecretWords(b"hidden" * 5 + b"!!")
    words = secret.of_rows(0, ""), secret.of_names([b"a"])
    assert "hidden" not in repr((secret, *words))


def test_rows_of_text_are_picked_before_anything_of_arrow_was_read():
    """pandas holds text by Arrow. Nobody hands that column over, so its library was not known."""
    told = (
        "import pandas as pd, opendp_lite as dp\n"
        "data = pd.DataFrame({'id': [1, 1, 2], 'city': pd.array(['a', 'b', None], 'string')})\n"
        "kept = dp.table(person='id') >> dp.bound_contributions(2) >> dp.select('city')\n"
        "print(int((kept >> dp.count())(data)))"
    )
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True)
    assert found.stdout == "2\n", found.stderr
