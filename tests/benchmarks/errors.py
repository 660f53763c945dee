"""How far off sums, means, selections and quantiles are, beside others: nothing is timed."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil, sqrt
from typing import Any

import numpy as np
from compare import Row, power

import opendp_lite as dp
from opendp_lite.combinators.adaptive_programs import ThresholdNoise, noise_of_mean
from opendp_lite.estimators.parts.request import Scenario
from opendp_lite.measurements.quantile.places import Spacing
from opendp_lite.samplers.entropy import SecureEntropy

Draw = Callable[[np.random.Generator, int], np.ndarray]
Loss = dict[str, float]
CONFIDENCE = 0.95


def centered_sum(options: Namespace) -> Iterator[Row]:
    """Sums of many columns, plain and centred: the table of docs/intervals.md.

    At least 400 releases, and at least 40 000 released numbers.
    """

    def error(pipeline: Any, columns: int) -> float:
        rows = np.full((50, columns), 0.3)
        runs = max(40_000 // columns, 400)
        off = [np.asarray(pipeline(rows)) - rows.sum(axis=0) for _ in range(runs)]
        return float(np.sqrt(np.mean(np.square(off))))

    for columns in (2, 10, 100, 1000):
        box = dp.records(columns=columns) >> dp.clamp(0, 1)
        noises = {"gaussian, rho = 0.5": dp.gaussian(rho=0.5), "laplace": dp.laplace(epsilon=1)}
        noises["l2_mechanism, epsilon = 1"] = dp.measurements.l2_mechanism(epsilon=1)
        plain = {name: error(box >> dp.sum() >> each, columns) for name, each in noises.items()}
        first, *others = plain
        for names, budget in (([first], {"rho": 0.5}), (others, {"epsilon": 1})):
            theirs, name = min((plain[each], each) for each in names)
            ours = error(box >> dp.centered_sum(**budget), columns)
            wanted = (sqrt(columns) + 1) / 2 if "rho" in budget else theirs
            texts = f"{ours:.3g}", name, f"{theirs:.3g}", f"{ours / theirs:.2f}"
            yield Row(f"{columns} columns", *texts, f"<= {wanted:.3g}", ours < 1.1 * wanted)


BELOW, SURE, DRAWS = 100, 0.05, 20_000
"""Values below the threshold that come before the one above; how often a run may be wrong."""


def selection(options: Namespace) -> Iterator[Row]:
    """Permute-and-flip, then thresholds: the tables of docs/selection.md."""
    makes = dp.noisy_max, dp.measurements.exponential_mechanism
    for count in (10, 100, 1000):
        scores = np.linspace(0, 50, count)
        space = dp.vector(count, dp.metrics.LInfDistance())
        ours, peer = (_regret(space >> make(epsilon=1), scores) for make in makes)
        work = f"mean distance from the best of {count} scores, epsilon = 1"
        texts = f"{ours:.2f}", "exponential_mechanism", f"{peer:.2f}", f"{ours / peer:.2f}"
        yield Row(work, *texts, "<= 1.02x", ours <= 1.02 * peer)
    entropy, generator = SecureEntropy(), np.random.default_rng(1)
    for most, monotone in [(most, monotone) for most in (1, 5) for monotone in (False, True)]:
        noise = ThresholdNoise.of(Fraction(1), most, monotone)
        means = noise.on_threshold, noise.on_query
        level, query = (
            np.array([float(noise_of_mean(mean, entropy)) for _ in range(DRAWS)]) for mean in means
        )
        # Of Lyu, Su, Li 2017 at the same loss: two-sided, of the same scales.
        laplace = (generator.laplace(0, float(scale), DRAWS) for scale in means)
        ours, peer = _margins(level, query), _margins(*laplace)
        words = f"most={most}{', monotone=True' if monotone else ''}"
        work = f"distance needed, {BELOW} below and one above, epsilon = 1, {words}"
        texts = f"{ceil(ours)}", "Laplace noise", f"{ceil(peer)}", f"{ours / peer:.2f}"
        yield Row(work, *texts, "<= 1x", ours <= peer)


def _regret(mechanism: Any, scores: np.ndarray) -> float:
    """How far the chosen score lies behind the best, on average."""
    return float(np.mean([scores.max() - scores[mechanism(scores)] for _ in range(4000)]))


def _margins(level: np.ndarray, query: np.ndarray) -> float:
    """The least distance from the threshold on either side at which 95 of 100 runs are right.

    A run is right if so many values below and then one above, all at this distance, are told.
    """
    generator = np.random.default_rng(0)
    highest = generator.choice(query, (len(level), BELOW)).max(axis=1)
    last = generator.choice(query, len(level))
    needed = np.maximum(highest - level, level - last)
    return float(np.quantile(needed, 1 - SURE))


LOSSES = {"rho": (0.01, 0.05, 0.1, 0.5, 1, 5), "epsilon": (0.05, 0.1, 0.2, 0.5, 1, 2, 5)}
ROWS = (10, 20, 50, 100, 300, 1000, 10_000, 1_000_000)
MEANS = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
"""With bounds of -1 and 1; the other half is the same by symmetry."""
RUNS = 40_000
COVERED_RUNS = {"rho": 40_000, "epsilon": 4_000}
"""Fewer for a pure loss, whose law is an integral."""
MOST, LEAST_COVERED, MOST_COVERED, FEWEST_ROWS_COVERED = 1.05, 0.94, 0.97, 20


def mean_grid(options: Namespace) -> Iterator[Row]:
    """The mean of one column beside simplex_mean: the tables of docs/accuracy.md."""
    for measure in (_beside_simplex, _coverage_of_means):
        for kind, losses in LOSSES.items():
            yield from map(partial(measure, kind), losses)


def _forecast(release: Any, count: int, mean: float, runs: int) -> Any:
    return release.facts.simulate(Scenario(count, mean), runs, np.random.default_rng(1))


def _errors_of_means(release: Any, count: int) -> np.ndarray:
    """The root mean square error at each mean."""
    found = [_forecast(release, count, mean, RUNS).mean - mean for mean in MEANS]
    return np.array([np.sqrt(np.mean(each**2)) for each in found])


def _beside_simplex(kind: str, loss: float) -> Row:
    """The largest and the smallest ratio to simplex_mean over means and numbers of rows."""
    makes = dp.mean, dp.estimators.simplex_mean
    both = [make(-1, 1, **{kind: loss}).bound for make in makes]
    ratios = np.array([np.divide(*(_errors_of_means(each, n) for each in both)) for n in ROWS])
    row, column = np.unravel_index(np.argmax(ratios), ratios.shape)
    return Row(
        f"error, {kind} = {loss}",
        f"{ratios.max():.3f} at {power(ROWS[row])} rows, t = {MEANS[column]}",
        "simplex_mean",
        "1",
        f"({ratios.min():.3f}..{ratios.max():.3f}); 1e6 rows: "
        + " ".join(f"{ratio:.3f}" for ratio in ratios[-1]),
        f"<= {MOST}",
        bool(ratios.max() <= MOST),
        f"error: root mean square of {RUNS} releases, bounds of -1 and 1; at 1e6 rows for t = "
        + ", ".join(map(str, MEANS)),
    )


def _coverage_of_means(kind: str, loss: float) -> Row:
    """The least and the largest share of intervals that hold a mean."""
    release, runs = dp.mean(-1, 1, **{kind: loss}, confidence=None).bound, COVERED_RUNS[kind]
    shares = []
    for count in [count for count in ROWS if count >= FEWEST_ROWS_COVERED]:
        for mean in MEANS:
            made = _forecast(release, count, mean, runs)
            theta = np.full(runs, float(mean))
            shares.append((made.ratio.levels(theta, made.total, made.rows) <= CONFIDENCE).mean())
    doubt = 4 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / runs) * (runs < RUNS)
    return Row(
        f"coverage, {kind} = {loss}",
        f"{min(shares):.2%}..{max(shares):.2%}",
        "intended",
        f"{CONFIDENCE:.0%}",
        "",
        f"{LEAST_COVERED:.0%}..{MOST_COVERED:.0%}",
        bool(LEAST_COVERED - doubt <= min(shares) and max(shares) <= MOST_COVERED),
        f"coverage: share of {runs} intervals, for {kind}, that hold the mean",
    )


RANK_ERRORS: tuple[tuple[int, int, Loss, float], ...] = (
    (10_000, 9, {"epsilon": 0.1}, 66),
    (1_000, 9, {"epsilon": 1}, 6.7),
    (10_000, 9, {"rho": 0.005}, 14),
    (1_000, 9, {"rho": 0.5}, 1.5),
    (10_000, 15, {"rho": 0.01}, 10),
    (10_000, 15, {"rho": 0.1}, 3.3),
    (10_000, 63, {"rho": 0.01}, 15),
    (10_000, 63, {"rho": 0.1}, 4.7),
)
"""Rows, quantiles, loss, and the mean rank error that is asked for."""
DRAWN: dict[str, Draw] = {
    "normal": lambda generator, n: generator.normal(50, 10, n),
    "skewed": lambda generator, n: generator.lognormal(3, 0.7, n),
    "whole numbers": lambda generator, n: generator.integers(20, 80, n).astype(float),
}
INTERVALS: tuple[tuple[int, float, Loss], ...] = (
    (1_000, 0.5, {"epsilon": 1}),
    (1_000, 0.9, {"epsilon": 1}),
    (10_000, 0.5, {"epsilon": 0.1}),
    (1_000, 0.5, {"rho": 0.1}),
)
INCOMES: tuple[tuple[list[float], int, Spacing], ...] = (
    ([0.1], 0, "linear"),
    ([0.1, 0.5, 0.9], 0, "linear"),
    ([0.1, 0.5, 0.9], 1000, "log"),
)
"""Quantiles, the lower bound and the scale."""
RELEASES = 200
SURELY = 0.88
"""Of 200 intervals at 95 %: fewer have a probability of 1e-4."""
WIDE = 200_000
"""The width beyond which an interval of incomes between 0 and 1e6 says little."""


def quantile_errors(options: Namespace) -> Iterator[Row]:
    """Rank errors of several quantiles, then intervals: the figures of docs/quantiles.md."""
    for size, count, loss, target in RANK_ERRORS:
        ours, even = _rank_errors(size, count, loss)
        work = f"{count} quantiles, {size} rows, {_spell(loss)}"
        texts = f"{ours:.3g} ranks", "even split", f"{even:.3g} ranks", f"{ours / even:.2g}"
        yield Row(work, *texts, f"<= {target:g} ranks", ours <= target)
    for kind, draw in DRAWN.items():
        for size, quantile, loss in INTERVALS:
            for sampling in (False, True):
                share, half, error = _coverage_of_quantiles(draw, size, quantile, loss, sampling)
                covers = "noise and sampling" if sampling else "the noise"
                work = f"{kind}, {size} rows, quantile {quantile:g}, {_spell(loss)}, {covers}"
                ours = f"{100 * share:.1f} % covered, +-{half:.0f} ranks"
                theirs, target = f"{error:.2g} ranks off", f">= {SURELY:.0%}"
                yield Row(work, ours, "the value", theirs, "", target, share >= SURELY)
    for quantiles, lower, scale in INCOMES:
        work = f"1000 incomes, {quantiles}, bounds {lower}, 1 000 000, scale {scale}; epsilon = 1"
        ours = f"{_count_wide(quantiles, lower, scale)} wider than {WIDE}"
        yield Row(work, ours, "of", f"{RELEASES}")


def _spell(loss: Loss) -> str:
    """As in epsilon = 1."""
    ((kind, value),) = loss.items()
    return f"{kind} = {value:g}"


def _rank_errors(size: int, count: int, loss: Loss) -> tuple[float, float]:
    """The mean rank errors, with recursion and with each quantile alone for an even part."""
    made = partial(dp.private_quantile, bounds=(-10, 10), confidence=None)
    wanted = [i / (count + 1) for i in range(1, count + 1)]
    ((kind, value),) = loss.items()
    together = dp.records() >> made(wanted, **loss)
    alone = [dp.records() >> made(q, **{kind: value / count}) for q in wanted]
    generator, found = np.random.default_rng(0), np.zeros(2)
    ranks = np.array(wanted) * size
    for _ in range(RELEASES):
        data = np.sort(generator.normal(size=size))
        for i, release in enumerate((together(data), [one(data) for one in alone])):
            found[i] += np.abs(np.searchsorted(data, release) - ranks).mean() / RELEASES
    return float(found[0]), float(found[1])


def _coverage_of_quantiles(
    draw: Draw, size: int, quantile: float, loss: Loss, sampling: bool
) -> tuple[float, float, float]:
    """The share of intervals that hold the quantile, half their ranks, and the value's error."""
    generator = np.random.default_rng(1)
    release = dp.records() >> dp.private_quantile(
        quantile, bounds=(0, 1000), confidence=CONFIDENCE, sampling=sampling, **loss
    )
    population = np.quantile(draw(generator, 10**6), quantile, method="inverted_cdf")
    held, halves, errors = 0, [], []
    for _ in range(RELEASES):
        data = np.sort(draw(generator, size))
        found = release(data)
        low, high = found.interval
        held += low <= (population if sampling else np.quantile(data, quantile)) <= high
        ends = np.searchsorted(data, low), np.searchsorted(data, high, side="right")
        halves.append((ends[1] - ends[0]) / 2)
        errors.append(abs(np.searchsorted(data, found.value) - quantile * size))
    return held / RELEASES, float(np.median(halves)), float(np.mean(errors))


def _count_wide(quantiles: list[float], lower: int, scale: Spacing) -> int:
    """How many intervals of the first quantile are wide, for incomes between wide bounds."""
    data = np.random.default_rng(0).lognormal(10.5, 0.6, 1000)
    release = dp.records() >> dp.private_quantile(
        quantiles, bounds=(lower, 10**6), scale=scale, epsilon=1, confidence=CONFIDENCE
    )
    ends = [release(data)[0].interval for _ in range(RELEASES)]
    return sum(high - low > WIDE for low, high in ends)


POINTS = np.linspace(-4.0, 4.0, 4001)
"""A step between two of them holds less than a row of the data."""


def quantile_peer(options: Namespace) -> Iterator[Row]:
    """One quantile beside OpenDP's permute-and-flip among the same candidates and rows.

    The mean rank errors over normal data that are drawn anew for each run.
    """
    from peers import calibrate_opendp, opendp_name, opendp_quantile

    size, runs = 1000, 2000
    for quantile in (0.5, 0.9):
        for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
            ours = dp.private_quantile(
                quantile, candidates=POINTS, epsilon=epsilon, confidence=None
            ).bound
            make = partial(opendp_quantile, POINTS.tolist(), quantile)
            theirs = calibrate_opendp(lambda scale, make=make: make(scale), epsilon)
            generator, errors = np.random.default_rng(0), np.empty((2, runs))
            for run in range(runs):
                data = np.sort(generator.normal(size=size))
                chosen = float(ours(data)), theirs(data.tolist())
                errors[:, run] = np.abs(np.searchsorted(data, chosen) - quantile * size)
            (mine, its), doubt = errors.mean(axis=1), errors.std(axis=1) / runs**0.5
            ratio = mine / its
            off = ratio * float(np.hypot(*(doubt / (mine, its))))
            peer = f"{opendp_name()}, the same {len(POINTS)} candidates"
            texts = f"{mine:.3g} ranks", peer, f"{its:.3g} ranks", f"{ratio:.2f} +- {off:.2f}"
            name = f"quantile {quantile:g}, {size} rows, epsilon = {epsilon:g}"
            yield Row(name, *texts, "<= 1x", bool(ratio <= 1))
