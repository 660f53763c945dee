"""The commands that release one number, or one for each quantile."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.flags import MORE, AnyMechanism, Command, ReportLine, Statistic
from opendp_lite.cli.output import as_typed, short
from opendp_lite.numbers.exact import exact

Estimator = Callable[..., AnyMechanism]
Bounds = tuple[Fraction, Fraction]

_BEST: Final = "best"
METHODS: Final = (_BEST, "centered", "joint", "plug-in", "recentred", "resized", "simplex")
"""The words after ``--method``: ``dp.mean``, and what ``dp.estimators`` has before ``_mean``."""
# How wide the interval is if no bounds are found.
_FARTHEST: Final = 2.0**301
# More candidates take seconds.
_MOST_WHOLE: Final = 100_000
_ROWS: Final = "these rows"
_CLIPPED: Final = ", after clipping"
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
    target: str,
    estimator: Estimator,
    reach: Callable[[Fraction], Fraction] | None = None,
    **more: Any,
) -> Statistic:
    """A statistic of the clipped values of the one column.

    Args:
        arguments: All that was typed.
        budget: The privacy setting.
        name: Of the statistic.
        target: What an interval holds, in words.
        estimator: From the bounds, the budget and the confidence to the mechanism.
        reach: How far apart two values of it can be, from the width of the bounds.
        more: Of the statistic.
    """
    typed = arguments.bounds
    bounds = None if typed is None else flags.rising_ends(typed, "--bounds")
    ends = map(as_typed, bounds or ())
    impute, level = _impute_value(arguments), flags.level_of(arguments)
    mechanism = estimator(*ends, **budget, confidence=level)
    # The number of rows of a group is private: there, rows without a value are left out.
    by_middle = arguments.size is not None and arguments.by is None
    treated = _treat(bounds, impute, by_middle=by_middle)
    if reach is not None:
        more["reach"] = _FARTHEST if bounds is None else float(reach(bounds[1] - bounds[0]))
    filled = mechanism if impute is None else dp.impute(as_typed(impute)) >> mechanism
    columns, note = (arguments.column,), ("clipped", treated)
    return Statistic(name, target, columns, float, filled, note=note, **{"lines": one_line, **more})


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


def _target(words: str, arguments: argparse.Namespace) -> str:
    """What an interval holds."""
    return f"{words} of {'the population' if arguments.sampling else _ROWS}{_CLIPPED}"


def _treat(bounds: Bounds | None, impute: Fraction | None, *, by_middle: bool) -> str:
    """What happens to values beyond the bounds and to missing ones, in words.

    Args:
        bounds: None where a part of the budget finds them.
        impute: What a missing value counts as, if you named it.
        by_middle: Whether it counts as the middle of the bounds otherwise.
    """
    if bounds is None:
        beyond = "values beyond bounds that a part of the budget finds count as these"
        middle = "the middle of these bounds"
    else:
        lower, upper = (short(as_typed(end)) for end in bounds)
        beyond = f"values below {lower} count as {lower}, values above {upper} as {upper}"
        middle = short(as_typed((bounds[0] + bounds[1]) / 2))
    if impute is None and not by_middle:
        return f"{beyond}; rows without a value are left out"
    value = middle if impute is None else short(as_typed(impute))
    return f"{beyond}; a missing value counts as {value}"


def _count(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    level, column = flags.level_of(arguments), arguments.column
    counted: Any = dp.count(missing=True) if arguments.all else dp.count()
    if column is not None:
        counted = dp.select(column.strip()) >> counted
    every = arguments.all or column is None
    return Statistic(
        name="count",
        target=f"count of {_ROWS}",
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

    return _of_values(arguments, budget, "sum", f"sum of {_ROWS}, after clipping", total)


def _mean(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    _check_method(arguments, budget)
    weights, target = _weights_of(arguments), _target("mean", arguments)

    def estimator(*bounds: float, **asked: Any) -> AnyMechanism:
        if weights:
            asked["most"] = weights["most"]
        named = f"{arguments.method.replace('-', '_')}_mean"
        best: Estimator = dp.weighted_mean if weights else dp.mean
        found = best if arguments.method == _BEST else getattr(dp.estimators, named)
        return found(*bounds, **asked, sampling=arguments.sampling)

    return _of_values(
        arguments,
        budget,
        "mean",
        target if arguments.bounds else target.replace(_CLIPPED, ", if tails are thin"),
        estimator,
        reach=lambda width: width,
        sampling=arguments.sampling,
        advice=_WITHOUT_BOUNDS if arguments.bounds is None else MORE,
        weights=weights.get("weights"),
    )


def _proportion(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    weights, level = _weights_of(arguments), flags.level_of(arguments)
    among = flags.categories(arguments.among, arguments.na, "--among")
    typed = arguments.column
    column, sampling = None if typed is None else typed.strip(), arguments.sampling
    asked: Any = {**budget, **weights, "confidence": level, "sampling": sampling}
    return Statistic(
        name="proportion",
        target=_target("share", arguments).removesuffix(_CLIPPED),
        columns=(column,),
        kind=str,
        mechanism=dp.proportion(column, among=among, **asked),
        lines=one_line,
        note=("counted", "rows without a value are left out, unless NA is among the words"),
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
    several, sampling = len(quantiles) > 1, arguments.sampling

    def estimator(*bounds: float, **asked: float) -> AnyMechanism:
        where: dict[str, Any] = {"bounds": bounds}
        if arguments.whole:
            lower, upper = ceil(bounds[0]), floor(bounds[1])
            if not 0 < upper - lower < _MOST_WHOLE:
                raise dp.ParameterError(
                    f"--whole needs from 2 to {_MOST_WHOLE} whole numbers between the bounds, and "
                    f"there are {max(0, upper - lower + 1)}: give closer bounds or leave it out"
                )
            where = {"candidates": range(lower, upper + 1)}
        released: Estimator = dp.private_quantile
        wanted = quantiles if several else quantiles[0]
        return released(wanted, **where, **asked, sampling=sampling)

    def lines(release: Any) -> list[ReportLine]:
        found = zip(quantiles, release if several else [release], strict=True)
        return [ReportLine(each, (q,), doubt=each.hint.partition(":")[0]) for q, each in found]

    return _of_values(
        arguments,
        budget,
        "value",
        _target(f"quantile{'s' * several}", arguments),
        estimator,
        reach=lambda width: width,
        heading="quantiles",
        lines=lines,
        titles=("quantile",),
        sampling=sampling,
        together=several,
    )


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


def _spread_command(word: str, reach: Callable[[Fraction], Fraction]) -> Command:
    """A command for the variance or the standard deviation.

    Args:
        word: As it is typed.
        reach: How far apart two values can be, from the width of the bounds.
    """
    name, words = word.replace("-", "_"), word.replace("-", " ")

    def ask_for(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
        target, sampling = _target(words, arguments), arguments.sampling

        def estimator(*bounds: float, **asked: float) -> AnyMechanism:
            released: Estimator = getattr(dp, name)
            return released(*bounds, **asked, sampling=sampling)

        return _of_values(arguments, budget, name, target, estimator, reach, sampling=sampling)

    return Command(
        name=word,
        asked=ask_for,
        options={**_BOUNDED, **flags.confidence("the true one"), **flags.OF_ROWS},
        delta=True,
    )


_BOUNDED: Final = {**flags.bounds(required=True), **flags.GROUPS, **flags.ROWS}
_OF_QUANTILES: Final = {
    **_BOUNDED,
    "--whole": flags.SWITCH,
    **flags.confidence("the quantile"),
    **flags.OF_ROWS,
}

COMMANDS: Final = (
    Command(
        name="mean",
        asked=_mean,
        options={
            **flags.bounds(
                required=False, without="; without them a part of the budget finds some"
            ),
            **flags.GROUPS,
            **flags.ROWS,
            **flags.WEIGHTS,
            **flags.confidence("the mean"),
            **flags.OF_ROWS,
            "--method": {"choices": METHODS, "default": _BEST},
        },
        delta=True,
    ),
    Command(
        name="proportion",
        asked=_proportion,
        title="the share",
        options={
            "--among": flags.text_option("WORD", nargs="+", required=True),
            **flags.GROUPS,
            **flags.WEIGHTS,
            **flags.confidence("the share"),
            **flags.OF_ROWS,
        },
        delta=True,
    ),
    Command(
        name="count",
        asked=_count,
        title="the count",
        options={"--all": flags.SWITCH, **flags.GROUPS, **flags.confidence("the count")},
    ),
    Command(name="sum", asked=_sum, options={**_BOUNDED, **flags.confidence("the sum")}),
    Command(name="median", asked=_median, options=_OF_QUANTILES, defaults={"quantiles": [0.5]}),
    Command(
        name="quantile",
        asked=_quantiles,
        options={
            **_OF_QUANTILES,
            "--quantiles": flags.number_option("Q", nargs="+", required=True),
        },
    ),
    _spread_command("variance", lambda width: width * width / 4),
    _spread_command("standard-deviation", lambda width: width / 2),
)
"""In the order of the help."""
