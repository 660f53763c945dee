"""The runs in a CSV file, a line for each, so that a stopped experiment goes on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import attrs

import opendp_lite as dp
from opendp_lite.reproduce.output import writing
from opendp_lite.reproduce.plan_settings import PlanDataset


@attrs.frozen
class Run:
    """One release. ``rho`` is infinite if nothing is private."""

    dataset: PlanDataset
    estimator: str
    rho: float
    run: int


@attrs.frozen
class Result:
    """A finished run."""

    run: Run
    error_true: float
    error_empirical: float
    seconds: float


FIELDS = (
    "experiment",
    "estimator",
    "n",
    "d",
    "alpha",
    "rho",
    "run",
    "seed",
    "error_true",
    "error_empirical",
    "seconds",
)


@attrs.frozen
class Table:
    """A CSV file of results. Its last line may be cut off."""

    path: Path

    def results(self) -> dict[Run, Result]:
        """The finished runs.

        Raises:
            DataError: If the file holds something else.
        """
        return {each.run: each for each in self._lines()}

    def open(self) -> None:
        """Writes the header if there is none, and removes a broken last line."""
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text or not whole:
            with writing(self.path):
                self.path.write_bytes(whole or _line(FIELDS).encode())

    def append(self, result: Result) -> None:
        """Appends a line.

        Raises:
            OutputError: If it cannot be written.
        """
        with (
            writing(self.path),
            self.path.open("a", newline="", encoding="utf-8") as stream,
        ):
            stream.write(_line(_cells(result)))

    def _lines(self) -> Iterator[Result]:
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        reader = csv.reader(io.StringIO(text[: text.rfind("\n") + 1]))
        if "\n" not in text:
            return
        if tuple(next(reader, ())) != FIELDS:
            raise dp.DataError(
                f"{str(self.path)!r} is not a table of runs: its first line is another; give "
                "another folder with --out, or move the file away"
            )
        for cells in reader:
            try:
                yield _result(cells)
            except ValueError:
                raise dp.DataError(
                    f"{str(self.path)!r}, line {reader.line_num}, is not a run of this program; "
                    "delete the line, and the run is made again"
                ) from None


def _line(cells: tuple[object, ...]) -> str:
    return ",".join(map(str, cells)) + "\n"


def _cells(result: Result) -> tuple[object, ...]:
    run, data = result.run, result.run.dataset
    setting = (data.experiment, run.estimator, data.n, data.d, data.alpha, run.rho, run.run)
    found = (result.error_true, result.error_empirical, round(result.seconds, 4))
    return (*setting, data.seed(run.run), *found)


def _result(cells: list[str]) -> Result:
    experiment, estimator, n, d, alpha, rho, run, seed, true, empirical, seconds = cells
    dataset = PlanDataset(experiment, int(n), int(d), float(alpha))
    if dataset.seed(int(run)) != int(seed):
        raise ValueError(seed)
    which = Run(dataset, estimator, float(rho), int(run))
    return Result(which, float(true), float(empirical), float(seconds))
