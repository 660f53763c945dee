"""``opendp-lite mean``: from the arguments to the text of one release."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli.mean_report import MeanReport, PrivacyClaim
from opendp_lite.cli.numbers import as_typed, short
from opendp_lite.engines.csv_file import csv_column
from opendp_lite.engines.file_column import FileColumn, FileError
from opendp_lite.exact import (
    confidence_of,
    exact,
    open_probability,
    positive,
    round_up,
    whole,
)

DELTA: Final = Fraction(1, 10**6)
"""The delta at which a zCDP loss is also shown as an epsilon."""
DROP: Final = "drop"
"""The word that leaves out rows without a value."""
METHODS: Final[dict[str, Callable[..., dp.Mechanism[dp.Space[dp.Rows], Any]]]] = {
    "best": dp.mean,
    "centered": dp.estimators.centered_mean,
    "joint": dp.estimators.joint_mean,
    "plug-in": dp.estimators.plug_in_mean,
    "recentred": dp.estimators.recentred_mean,
    "resized": dp.estimators.resized_mean,
    "simplex": dp.estimators.simplex_mean,
}
"""Estimators by the word after ``--method``."""

_Rows = dp.Space[dp.Rows]
_STEP: Final = re.compile(r"^\w+: (?=(bounds|rho|epsilon|delta)\b)")
_PARQUET: Final = "opendp_lite.engines.parquet_file"


@attrs.frozen
class MeanSetting:
    """Everything public about one release."""

    mechanism: dp.Mechanism[_Rows, Any]
    space: _Rows
    budget: dict[str, float]
    lower: Fraction
    upper: Fraction
    impute: Fraction | None

    @property
    def pipeline(self) -> dp.Measurement[_Rows, Any]:
        """The mechanism on its space."""
        return self.mechanism.bind(self.space)

    @property
    def size(self) -> int | None:
        """The number of rows, where it is public."""
        return self.space.domain.size

    def claim(self, pipeline: dp.Measurement[_Rows, Any], *, explain: bool) -> PrivacyClaim:
        """What the pipeline promises, before any data is read."""
        loss = pipeline.map(1)
        at_delta = None
        if "rho" in self.budget:
            at_delta = {"epsilon": pipeline.epsilon(DELTA), "delta": round_up(DELTA)}
        return PrivacyClaim(
            size=self.size,
            measure=type(pipeline.output_measure).__name__,
            loss=dict(zip(self.budget, loss if type(loss) is tuple else (loss,), strict=True)),
            epsilon_at_delta=at_delta,
            pipeline=repr(self.mechanism if self.size is None else pipeline),
            explanation=pipeline.explain().splitlines() if explain else None,
        )

    def hides(self, estimate: dp.Estimate) -> bool:
        """Whether the standard error is a quarter of the bounds or more."""
        return estimate.standard_error >= float(self.upper - self.lower) / 4

    def clipped(self) -> str:
        """What happens to values beyond the bounds and to missing ones."""
        lower, upper = short(as_typed(self.lower)), short(as_typed(self.upper))
        bounds = f"values below {lower} count as {lower}, values above {upper} as {upper}"
        filled = self.impute
        if filled is None and self.size is not None:
            filled = (self.lower + self.upper) / 2
        if filled is None:
            return f"{bounds}; rows without a value are left out"
        return f"{bounds}; a missing value counts as {short(as_typed(filled))}"


def run_mean(arguments: argparse.Namespace) -> str:
    """Makes one release. A setting is refused before the file is opened.

    Args:
        arguments: What the parser made of the command line.

    Returns:
        The text to print.

    Raises:
        ParameterError: If an argument is out of range or contradicts another.
        DataError: If the file is not as declared.
    """
    with _flags_named():
        setting = mean_setting(arguments)
        measurement = setting.pipeline
    claim = setting.claim(measurement, explain=arguments.explain)
    column = _column(arguments)
    with _declared(arguments.size):
        estimate = measurement(column)
    report = MeanReport(
        column=_label(arguments, column),
        estimate=estimate,
        claim=claim,
        clipped=setting.clipped(),
        hidden=setting.hides(estimate),
    )
    return report.as_json() if arguments.json else report.as_text()


def mean_setting(arguments: argparse.Namespace) -> MeanSetting:
    """The release that the arguments ask for.

    Raises:
        ParameterError: If they do not fit together.
    """
    lower, upper = (
        exact(bound, f"--bounds: the {which} bound")
        for bound, which in zip(arguments.bounds, ("lower", "upper"), strict=True)
    )
    if lower >= upper:
        advice = "they are equal" if lower == upper else "swap them"
        raise dp.ParameterError(f"--bounds: the lower must be below the upper; {advice}")
    if arguments.size is not None and arguments.method != "best":
        raise dp.ParameterError(
            f"--size N makes the number of rows public, which --method {arguments.method} does "
            "not use; leave one of them out"
        )
    size = None if arguments.size is None else whole(arguments.size, "--size", least=1)
    budget = _budget(arguments)
    _check_method(arguments.method, budget)
    confidence = as_typed(confidence_of(arguments.confidence, "--confidence"))
    mechanism = METHODS[arguments.method](
        as_typed(lower),
        as_typed(upper),
        **budget,
        confidence=confidence,
        sampling=arguments.sampling,
    )
    impute = _imputed(arguments.missing, sized=size is not None)
    if impute is not None:
        mechanism = dp.impute(as_typed(impute)) >> mechanism
    metric = None if size is None else dp.ChangeOneDistance()
    return MeanSetting(
        mechanism, dp.records(size=size, metric=metric), budget, lower, upper, impute
    )


def _check_method(method: str, budget: dict[str, float]) -> None:
    """Refuses a method with the noise that it does not know."""
    pure = list(budget) == ["epsilon"]
    if method == "joint" and not pure:
        raise dp.ParameterError("--method joint is for a pure loss: give --epsilon alone")
    if method == "recentred" and pure:
        raise dp.ParameterError(
            "--method recentred needs Gaussian noise: give --rho, or --epsilon with --delta"
        )


def _imputed(missing: str | float | None, *, sized: bool) -> Fraction | None:
    """The value that stands for a missing one, if you named it."""
    if missing == DROP and sized:
        raise dp.ParameterError(
            "--missing drop changes the number of rows, which --size declares as public; "
            "give --missing VALUE, or leave it out for the middle of the bounds"
        )
    return None if missing is None or missing == DROP else exact(missing, "--missing")


def _budget(arguments: argparse.Namespace) -> dict[str, float]:
    """The privacy setting: rho, epsilon, or epsilon and delta, by name."""
    rho, epsilon, delta = arguments.rho, arguments.epsilon, arguments.delta
    if rho is None and epsilon is None:
        raise dp.ParameterError(
            ("--delta goes with --epsilon. " if delta is not None else "")
            + "Choose how private the release is: --epsilon E (1 is a common choice), --epsilon E "
            "--delta D, or --rho R (0.03 means epsilon = 1.04 at delta = 1e-6). A smaller number "
            "protects more"
        )
    if rho is not None and (epsilon is not None or delta is not None):
        other = "--epsilon" if epsilon is not None else "--delta"
        raise dp.ParameterError(
            f"--rho and {other} belong to different privacy settings; give --rho alone, --epsilon "
            "alone, or --epsilon with --delta"
        )
    if rho is not None:
        return {"rho": as_typed(positive(rho, "--rho"))}
    parts = {"epsilon": as_typed(positive(epsilon, "--epsilon"))}
    if delta is not None:
        parts["delta"] = as_typed(open_probability(delta, "--delta"))
    return parts


def _column(arguments: argparse.Namespace) -> FileColumn:
    if Path(arguments.file).suffix.lower() == ".parquet":
        return _parquet_column(arguments)
    return csv_column(
        _standard_input() if arguments.file == "-" else arguments.file,
        _asked(arguments),
        header=arguments.header,
        delimiter=arguments.delimiter,
        na=arguments.na,
        text=arguments.text,
    )


def _asked(arguments: argparse.Namespace) -> str | int | None:
    """The column as a number where the file has no header."""
    column: str | None = arguments.column
    if arguments.header is False and column is not None and column.strip().isdecimal():
        return int(column)
    return column


def _label(arguments: argparse.Namespace, column: FileColumn) -> str:
    """The column in words that are public: as you typed it or as a declared header names it."""
    if not column.name:
        return "the only column"
    return f"column {column.name}" if arguments.header is False else column.name


def _standard_input() -> BinaryIO:
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise FileError("there is no standard input to read; give the name of a file")
    return stream


def _parquet_column(arguments: argparse.Namespace) -> FileColumn:
    usual = (arguments.delimiter, arguments.text) == (",", "refuse")
    if arguments.header is not None or arguments.na or not usual:
        raise dp.ParameterError(
            "--header, --no-header, --delimiter, --na and --text are for CSV files; leave them "
            "out, as a Parquet file declares its columns and their types"
        )
    try:
        engine = importlib.import_module(_PARQUET)
    except ImportError:
        raise dp.ParameterError(
            'reading a .parquet file needs pyarrow; type: pip install "opendp_lite[arrow]"'
        ) from None
    column: FileColumn = engine.parquet_column(arguments.file, arguments.column)
    return column


@contextmanager
def _flags_named() -> Iterator[None]:
    """An argument that an estimator refuses, under the name of its flag."""
    try:
        yield
    except dp.ParameterError as problem:
        raise dp.ParameterError(_STEP.sub("--", str(problem))) from None


@contextmanager
def _declared(size: float | None) -> Iterator[None]:
    """A size that does not fit, in words."""
    try:
        yield
    except FileError:
        raise
    except dp.DataError:
        if size is None:
            raise
        raise dp.DataError(
            f"--size {short(size)}: the file has another number of rows. Give the true number if "
            "it is public; otherwise leave --size out and the number stays private"
        ) from None
