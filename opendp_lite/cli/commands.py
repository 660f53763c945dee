"""The commands that release numbers: what their arguments ask for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise, repeat
from math import ceil, floor
from typing import Any, Final, cast

import attrs

import opendp_lite as dp
from opendp_lite.cli import flags, when_run
from opendp_lite.cli.flags import MORE, AnyMechanism, Command, Labels, ReportLine, Statistic
from opendp_lite.cli.output import as_typed, short
from opendp_lite.numbers.exact import exact, whole

Estimator = Callable[..., AnyMechanism]
Bounds = tuple[Fraction, Fraction]

_BEST: Final = flags.METHODS[0]
# How wide the interval is if no bounds are found.
_FARTHEST: Final = 2.0**301
_MOST_BINS: Final = 2**20
# More candidates take seconds.
_MOST_WHOLE: Final = 100_000
_WITHOUT_BOUNDS: Final = "give --bounds, or use more rows or a larger budget"


def one_line(release: dp.Estimate) -> Sequence[ReportLine]:
    """The line of a release that is one number."""
    return [ReportLine(release)]


def _noise(budget: dict[str, float]) -> Estimator:
    """Laplace noise for a pure budget and Gaussian noise for rho."""
    return dp.gaussian if "rho" in budget else dp.laplace


def _of_values(
    arguments: argparse.Namespace,
    budget: dict[str, float],
    name: str,
    words: str,
    estimator: Estimator,
    reach: Callable[[Fraction], Fraction] | None = None,
    **more: Any,
) -> Statistic:
    """A statistic of the clipped values of the one column.

    Args:
        arguments: All that was typed.
        budget: The privacy setting.
        name: Of the statistic.
        words: What it is.
        estimator: From the bounds, the budget, the confidence and the sampling to the mechanism.
        reach: How far apart two values of it can be, from the width of the bounds.
        more: Of the statistic.
    """
    typed = arguments.bounds
    bounds = None if typed is None else flags.rising_ends(typed, "--bounds")
    ends = map(as_typed, bounds or ())
    impute, level = _impute_value(arguments), flags.level_of(arguments)
    asked = {"sampling": arguments.sampling} if "sampling" in arguments else {}
    mechanism = estimator(*ends, **budget, **asked, confidence=level)
    # The number of rows of a group is private: there, rows without a value are left out.
    by_middle = arguments.size is not None and arguments.by is None
    treated = _treat(bounds, impute, by_middle=by_middle)
    if reach is not None:
        more["reach"] = _FARTHEST if bounds is None else float(reach(bounds[1] - bounds[0]))
    how = ", if tails are thin" if bounds is None else ", after clipping"
    return Statistic(
        name,
        f"{words} of {_whom(arguments)}{how}",
        (arguments.column,),
        float,
        mechanism if impute is None else dp.impute(as_typed(impute)) >> mechanism,
        note=("clipped", treated),
        **{"lines": one_line, **asked, **more},
    )


def _whom(arguments: argparse.Namespace) -> str:
    """Whom an interval is for."""
    return "the population" if vars(arguments).get("sampling") else "these rows"


def _impute_value(arguments: argparse.Namespace) -> Fraction | None:
    """The value that stands for a missing one, if you named it."""
    missing = arguments.missing
    if missing == flags.DROP and arguments.size is not None:
        raise dp.ParameterError(
            "--missing drop changes the number of rows, which --size declares as public; "
            "give --missing VALUE, or leave it out for the middle of the bounds"
        )
    return None if missing is None or missing == flags.DROP else exact(missing, "--missing")


def _weights_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The column of weights and the largest weight, by the names that estimators have for them."""
    if arguments.weights is None:
        return {}
    typed = (arguments.person, arguments.size, arguments.missing)
    if arguments.most is None or any(each is not None for each in typed):
        raise dp.ParameterError(
            "--weights NAME goes with --most W, the largest weight, and not with --person, --size "
            "or --missing"
        )
    return {"weights": arguments.weights.strip(), "most": arguments.most}


def _treat(bounds: Bounds | None, impute: Fraction | None, *, by_middle: bool) -> str:
    """As ``say_treated``: a missing value counts as what you named, or as the middle of bounds."""
    ends, value = None, "the middle of these bounds"
    if bounds is not None:
        *ends, value = (short(as_typed(each)) for each in (*bounds, (bounds[0] + bounds[1]) / 2))
    if impute is not None:
        value = short(as_typed(impute))
    return when_run.say_treated(ends, value if by_middle or impute is not None else "")


def _count(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    level, column = flags.level_of(arguments), arguments.column
    counted: Any = dp.count(missing=True) if arguments.all else dp.count()
    if column is not None:
        counted = dp.select(column.strip()) >> counted
    every = arguments.all or column is None
    return Statistic(
        name="count",
        target="count of these rows",
        columns=() if column is None else (column,),
        kind=str,
        mechanism=counted >> _noise(budget)(**budget, confidence=level),
        lines=one_line if "rho" in budget else _whole_line,
        note=("counted", "all rows" if every else "rows without a value are left out"),
        picks=True,
    )


def _whole_line(release: dp.Estimate) -> Sequence[ReportLine]:
    """The line of a count with noise that is a whole number."""
    low, high = map(int, release.interval)
    whole = attrs.evolve(release, value=int(release.value), interval=(low, high))
    return [ReportLine(whole)]


def _sum(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    def total(lower: float, upper: float, **noise: float) -> AnyMechanism:
        return dp.clamp(lower, upper) >> dp.sum() >> _noise(budget)(**noise)

    return _of_values(arguments, budget, "sum", "sum", total)


def _mean(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    _check_method(arguments, budget)
    weights = _weights_of(arguments)

    def estimator(*bounds: float, **asked: Any) -> AnyMechanism:
        if weights:
            asked["most"] = weights["most"]
        best: Estimator = dp.weighted_mean if weights else dp.mean
        named = f"{arguments.method.replace('-', '_')}_mean"
        found = best if arguments.method == _BEST else getattr(dp.estimators, named)
        return found(*bounds, **asked)

    return _of_values(
        arguments,
        budget,
        "mean",
        "mean",
        estimator,
        reach=lambda width: width,
        advice=_WITHOUT_BOUNDS if arguments.bounds is None else MORE,
        weights=weights.get("weights"),
    )


def _proportion(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    weights, level = _weights_of(arguments), flags.level_of(arguments)
    among = flags.categories(arguments.among, arguments.na, "--among")
    typed = arguments.column
    column, sampling = None if typed is None else typed.strip(), arguments.sampling
    asked: Any = {**budget, **weights, "confidence": level, "sampling": sampling}
    lost = "" if None in among else "; rows without a value are left out"
    return Statistic(
        name="proportion",
        target=f"share of {_whom(arguments)}",
        columns=(column,),
        kind=str,
        mechanism=dp.proportion(column, among=among, **asked),
        lines=one_line,
        note=("counted", f"rows with {' or '.join(each or 'no value' for each in among)}{lost}"),
        picks=True,
        reach=1.0,
        sampling=sampling,
        weights=weights.get("weights"),
    )


def _check_method(arguments: argparse.Namespace, budget: dict[str, float]) -> None:
    """Refuses a method with a setting that it does not know."""
    method, pure = arguments.method, list(budget) == ["epsilon"]
    if arguments.weights is not None and (method != _BEST or arguments.bounds is None):
        raise dp.ParameterError("--weights NAME needs --bounds LOWER UPPER, and no --method")
    if arguments.size is not None and method != _BEST:
        raise dp.ParameterError(
            f"--size N makes the number of rows public, which --method {method} does "
            "not use; leave one of them out"
        )
    if arguments.bounds is None and method != _BEST:
        raise dp.ParameterError(f"--method {method} needs --bounds LOWER UPPER")
    if method == "joint" and not pure:
        raise dp.ParameterError("--method joint is for a pure loss: give --epsilon alone")
    if method == "recentred" and pure:
        raise dp.ParameterError(
            "--method recentred needs Gaussian noise: give --rho, or --epsilon with --delta"
        )


def _quantiles(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    quantiles = [_quantile(each) for each in arguments.quantiles]
    several = len(quantiles) > 1

    def estimator(*bounds: float, **asked: Any) -> AnyMechanism:
        where: dict[str, Any] = {"bounds": bounds}
        if arguments.whole:
            lower, upper = ceil(bounds[0]), floor(bounds[1])
            if not 0 < upper - lower < _MOST_WHOLE:
                raise dp.ParameterError(
                    f"--whole needs from 2 to {_MOST_WHOLE} whole numbers between the bounds, and "
                    f"there are {max(0, upper - lower + 1)}: give closer bounds or leave it out"
                )
            where = {"candidates": range(lower, upper + 1)}
        return dp.private_quantile(quantiles if several else quantiles[0], **where, **asked)

    def lines(release: Any) -> list[ReportLine]:
        found = zip(quantiles, release if several else [release], strict=True)
        return [ReportLine(each, (q,), doubt=_doubt_of(each)) for q, each in found]

    return _of_values(
        arguments,
        budget,
        "value",
        f"quantile{'s' * several}",
        estimator,
        reach=lambda width: width,
        heading="quantiles",
        lines=lines,
        titles=("quantile",),
        together=several,
    )


def _doubt_of(release: dp.Estimate) -> str:
    """When its interval may miss, without what to type in Python; which rows count is a note."""
    told = [part for part in release.hint.split("; ") if not part.startswith("rows counted")]
    return "; ".join(part.partition(":")[0] for part in told)


def _quantile(given: float) -> float:
    share = exact(given, "--quantiles")
    if not 0 < share < 1:
        percent = f"; {short(given)} % is {short(given / 100)}" if 1 < given < 100 else ""
        raise dp.ParameterError(
            f"--quantiles must be between 0 and 1, got {short(given)}{percent}. The least and the "
            "largest value have no interval: ask for 0.01 or 0.99"
        )
    return as_typed(share)


def _median(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    found = _quantiles(arguments, budget)
    return attrs.evolve(
        found,
        name="median",
        heading="",
        target=found.target.replace("quantile", "median"),
        lines=lambda release: [attrs.evolve(each, labels=()) for each in found.lines(release)],
        titles=(),
    )


def _spread(
    arguments: argparse.Namespace,
    budget: dict[str, float],
    name: str,
    reach: Callable[[Fraction], Fraction],
) -> Statistic:
    """The variance or the standard deviation, by its name."""

    def estimator(*bounds: float, **asked: Any) -> AnyMechanism:
        found: Estimator = getattr(dp, name)
        return found(*bounds, **asked)

    return _of_values(arguments, budget, name, name.replace("_", " "), estimator, reach)


def _histogram(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    """The counts that the arguments ask for.

    Raises:
        ParameterError: If they do not fit together.
    """
    names = tuple(str(name).strip() for name in arguments.column or ())
    columns: tuple[str | None, ...] = names or (None,)
    several = len(columns) > 1
    which = list(names) if several else next(iter(names), None)
    declared, left_out = _declare(arguments, columns, budget)
    asked: Any = {**declared, **budget, "confidence": flags.level_of(arguments)}
    kept = "all other values count as other" if arguments.other else left_out
    return Statistic(
        name="count",
        target="count of these rows",
        columns=columns,
        kind=float if "edges" in declared else str,
        mechanism=dp.histogram(which, **asked, other=arguments.other),
        lines=partial(_lines_of_counts, several=several),
        note=("counted", kept),
        picks=True,
        tell=lambda found: {} if found.threshold is None else {"threshold": str(found.threshold)},
        titles=tuple(
            f"column {name}" if name and arguments.header is False else name or "value"
            for name in columns
        ),
    )


def _lines_of_counts(found: dp.releases.Histogram, *, several: bool) -> list[ReportLine]:
    """A line for each key, which is one of several columns or of one."""
    joints: Iterable[tuple[float, float] | None] = repeat(None)
    if found.joint_margin is not None:
        joints = map(tuple, found.joint_intervals.tolist())
    numbers = zip(found.items(), joints, strict=False)
    return [
        ReportLine(each, cast(Labels, key) if several else (key,), joint)
        for (key, each), joint in numbers
    ]


def _declare(
    arguments: argparse.Namespace, columns: tuple[str | None, ...], budget: dict[str, float]
) -> tuple[dict[str, object], str]:
    """The categories or edges, and what is left out."""
    ways = ("categories", "edges", "bins")
    given = [f"--{way}" for way in ways if getattr(arguments, way) is not None]
    if len(given) > 1:
        raise dp.ParameterError(f"{given[0]} and {given[1]} are two ways to count; give one")
    if not given:
        return {}, _find_undeclared(arguments, budget)
    if arguments.categories is not None:
        names = [name or "the only column" for name in columns]
        lists = flags.lists_for(
            names, arguments.categories, arguments.na, ("--column", "--categories")
        )
        if arguments.other and any("other" in each for each in lists):
            raise dp.ParameterError("--other adds the category other, which --categories declares")
        return {"categories": lists if len(lists) > 1 else lists[0]}, (
            "rows with another value are left out"
        )
    if len(columns) > 1:
        raise dp.ParameterError(
            f"{given[0]} is for one column; for bins in each group add --by NAME --keys KEY ..."
        )
    edges = _edges(arguments)
    return {"edges": edges}, (
        f"rows without a value from {short(edges[0])} to {short(edges[-1])} are left out"
    )


def _find_undeclared(arguments: argparse.Namespace, budget: dict[str, float]) -> str:
    """Categories that the data hold: what is left out, refused where the setting cannot be."""
    if arguments.other:
        raise dp.ParameterError("--other goes with --categories, --edges or --bins")
    if "delta" not in budget:
        raise dp.ParameterError(
            "declare what to count: --categories WORD ..., --edges X ... or --bins LOWER UPPER "
            "COUNT. To count the categories that the data hold, give --epsilon E --delta D"
        )
    return "categories with a noisy count below the threshold are not shown"


def _edges(arguments: argparse.Namespace) -> list[float]:
    if arguments.bins is not None:
        lower, upper = flags.rising_ends(arguments.bins[:2], "--bins")
        count = whole(arguments.bins[2], "--bins: the count", least=1)
        if count > _MOST_BINS:
            raise dp.ParameterError(f"--bins: the count must be at most {_MOST_BINS}, got {count}")
        return [as_typed(lower + (upper - lower) * place / count) for place in range(count + 1)]
    edges: list[float] = arguments.edges
    found = [exact(edge, "--edges") for edge in edges]
    if len(found) < 2 or any(low >= high for low, high in pairwise(found)):
        raise dp.ParameterError("--edges: give two numbers or more, each above the one before")
    return edges


_VARIANCE: Final = partial(_spread, name="variance", reach=lambda width: width * width / 4)
_DEVIATION: Final = partial(_spread, name="standard_deviation", reach=lambda width: width / 2)
_BOUNDED: Final = "--bounds --by --keys --missing --size"
_OF_GROUPS: Final = "--suppress --round"
_OF_QUANTILES: Final = f"{_BOUNDED} --whole --of-rows"

COMMANDS: Final = (
    Command(
        "mean",
        _mean,
        f"{_BOUNDED} --weights --of-rows --method",
        "the mean",
        delta=True,
        table=_OF_GROUPS,
    ),
    Command(
        "proportion",
        _proportion,
        "--among --by --keys --weights --of-rows",
        "the share",
        title="the share",
        delta=True,
        table=f"{_OF_GROUPS} --percent",
    ),
    Command("count", _count, "--all --by --keys", "the count", title="the count"),
    Command("sum", _sum, _BOUNDED, "the sum"),
    Command(
        "median",
        _median,
        _OF_QUANTILES,
        "the quantile",
        table=_OF_GROUPS,
        defaults={"quantiles": [0.5]},
    ),
    Command(
        "quantile",
        _quantiles,
        f"{_OF_QUANTILES} --quantiles",
        "the quantile",
        table=_OF_GROUPS,
    ),
    Command("variance", _VARIANCE, f"{_BOUNDED} --of-rows", "the true one", delta=True),
    Command("standard-deviation", _DEVIATION, f"{_BOUNDED} --of-rows", "the true one", delta=True),
    Command(
        "histogram",
        _histogram,
        "--categories --edges --bins --other --by --keys --size",
        "the count",
        title="the counts",
        delta=True,
        table=f"{_OF_GROUPS} --total --wide",
    ),
)
"""In the order of the help."""
