"""``opendp-lite histogram``."""

from __future__ import annotations

import argparse
from functools import partial
from itertools import pairwise
from typing import Any, Final, cast

import opendp_lite as dp
from opendp_lite.cli import flags
from opendp_lite.cli.flags import AnyMechanism, Command, Labels, ReportLine, Statistic
from opendp_lite.cli.output import as_typed, short
from opendp_lite.numbers.exact import exact, whole

_MOST_BINS: Final = 2**20


def _ask(arguments: argparse.Namespace, budget: dict[str, float]) -> Statistic:
    """The counts that the arguments ask for.

    Raises:
        ParameterError: If they do not fit together.
    """
    typed = arguments.column
    names = [] if typed is None else [str(name).strip() for name in typed]
    columns: tuple[str | None, ...] = (None,) if typed is None else tuple(names)
    several = len(columns) > 1
    declared, left_out = _declare(arguments, columns, budget)
    level = flags.level_of(arguments)
    given: dict[str, Any] = {**declared, **budget, **({"other": True} if arguments.other else {})}
    mechanism: AnyMechanism = dp.histogram(
        names if several else next(iter(columns)), **given, confidence=level
    )
    kept = "all other values count as other" if arguments.other else left_out
    return Statistic(
        name="count",
        target="count of these rows",
        columns=columns,
        kind=float if "edges" in declared else str,
        mechanism=mechanism,
        lines=partial(_lines, several=several),
        note=("counted", kept),
        picks=True,
        tell=_tell_threshold,
        titles=tuple(
            f"column {name}" if name and arguments.header is False else name or "value"
            for name in columns
        ),
    )


def _lines(found: dp.releases.Histogram, *, several: bool) -> list[ReportLine]:
    """A line for each key, which is one of several columns or of one."""
    joints: list[tuple[float, float] | None] = [None] * len(found)
    if found.joint_margin is not None:
        joints = [tuple(each) for each in found.joint_intervals.tolist()]
    numbers = zip(found, found.counts.tolist(), found.intervals.tolist(), joints, strict=True)
    return [
        ReportLine(
            dp.Estimate(count, found.standard_error, tuple(ends), found.confidence),
            cast(Labels, key) if several else (key,),
            joint,
        )
        for key, count, ends, joint in numbers
    ]


def _tell_threshold(found: dp.releases.Histogram) -> dict[str, str]:
    """The least count that is shown, where no categories were declared."""
    return {} if found.threshold is None else {"threshold": str(found.threshold)}


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


HISTOGRAM: Final = Command(
    name="histogram",
    asked=_ask,
    title="the counts",
    options={
        "--categories": flags.text_option("WORD", nargs="+", action="append"),
        "--edges": flags.number_option("X", nargs="+"),
        "--bins": flags.number_option(("LOWER", "UPPER", "COUNT"), nargs=3),
        "--other": flags.SWITCH,
        **flags.GROUPS,
        **flags.SIZE,
        **flags.confidence("the count"),
    },
    column=flags.text_option("NAME", nargs="+"),
    delta=True,
)
"""The command."""
