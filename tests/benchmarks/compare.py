"""Two functions timed side by side, and the row of a table that comes of it."""

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ENOUGH = 0.02
"""Seconds that one timing lasts at least, so that the clock's own cost does not show."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
HEADINGS = ("work", "ours", "peer", "peer's", "ratio (pairs)", "target", "met?")

Work = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """A line of the table, as text; ``note`` is printed below it."""

    work: str
    ours: str
    peer: str = ""
    theirs: str = ""
    ratio: str = ""
    target: str = ""
    met: bool = True
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """The text of each column."""
        met = "yes" if self.met else "NO"
        return self.work, self.ours, self.peer, self.theirs, self.ratio, self.target, met


@dataclass(frozen=True)
class Target:
    """A bound on a ratio: how many times faster at least, or how many times slower at most."""

    bound: float
    faster: bool

    def words(self) -> str:
        """The target as the table says it."""
        if self.faster:
            return "faster" if self.bound == 1 else f">= {self.bound:g}x faster"
        return f"<= {self.bound:g}x"

    def ratio(self, ours: float, theirs: float) -> float:
        """The ratio that the bound is about."""
        return theirs / ours if self.faster else ours / theirs

    def met(self, ratio: float) -> bool:
        """Whether the ratio is on the good side of the bound."""
        return ratio > self.bound if self.faster else ratio <= self.bound


def faster(times: float) -> Target:
    """At least so many times faster than the peer."""
    return Target(times, faster=True)


def at_most(times: float) -> Target:
    """At most so many times as slow as the peer."""
    return Target(times, faster=False)


def choose_rows(
    works: Iterable[tuple[str, Callable[[str], Row]]], only: str, seconds: float
) -> Iterator[Row]:
    """The rows with a text in their name, each made of its name; none is begun later."""
    start = time.perf_counter()
    for name, make in works:
        if only in name and time.perf_counter() - start < seconds:
            yield make(name)


class Clock:
    """The clock that all timings read: wall time, or this process's processor time."""

    read = staticmethod(time.perf_counter)

    @classmethod
    def processor_time(cls) -> None:
        """Reads processor time from now on: steadier where other work runs on the machine."""
        cls.read = staticmethod(time.process_time)


def calls_for(work: Work) -> int:
    """How many calls make a timing long enough; the first call, a warm-up, does not count."""
    work()
    return max(1, round(ENOUGH / max(seconds(work, 1), 1e-9)))


def seconds(work: Work, calls: int) -> float:
    """Seconds a call."""
    start = Clock.read()
    for _ in range(calls):
        work()
    return (Clock.read() - start) / calls


def time_by_turns(ours: Work, theirs: Work, rounds: int) -> list[tuple[float, float]]:
    """Seconds a call of each, ours and theirs by turns, so that both meet the same weather."""
    ours_calls, their_calls = calls_for(ours), calls_for(theirs)
    gc.collect()
    gc.disable()
    try:
        return [(seconds(ours, ours_calls), seconds(theirs, their_calls)) for _ in range(rounds)]
    finally:
        gc.enable()


def compare(
    ours: tuple[str, Work],
    peer: tuple[str, Work],
    target: Target,
    *,
    rounds: int,
    size: int = 1,
    peer_size: int | None = None,
    item: str = "row",
    note: str = "",
) -> Row:
    """The row of two named works that go through so many items, the peer perhaps through fewer."""
    pairs = time_by_turns(ours[1], peer[1], rounds)
    pairs = [(a / size, b / (peer_size or size)) for a, b in pairs]
    mine, its = median(a for a, _ in pairs), median(b for _, b in pairs)
    ratio, each = target.ratio(mine, its), [target.ratio(a, b) for a, b in pairs]
    times = [show(time, item if size > 1 else "") for time in (mine, its)]
    span, met = spread(ratio, min(each), max(each)), target.met(ratio)
    return Row(ours[0], times[0], peer[0], times[1], span, target.words(), met, note)


def within(work: str, ours: Work, most: float, rounds: int) -> Row:
    """The row of one function and the most seconds that a call may take: minimum and median."""
    calls = calls_for(ours)
    each = sorted(seconds(ours, calls) for _ in range(rounds))
    middle = median(each)
    range_of = f"({show(each[0])}..{show(each[-1])})"
    met = middle <= most
    return Row(work, show(middle), ratio=range_of, target=f"<= {show(most)}", met=met)


def show(duration: float, item: str = "") -> str:
    """Seconds in a unit that fits, and what they are for."""
    unit = next((unit for unit, size in UNITS.items() if duration >= size), "ns")
    return f"{duration / UNITS[unit]:.3g} {unit}" + (f"/{item}" if item else "")


def power(count: int) -> str:
    """A round number as 1e5."""
    return f"{count:.0e}".replace("e+0", "e")


def spread(ratio: float, low: float, high: float) -> str:
    """The ratio of the medians, and the smallest and largest ratio of a pair."""
    return f"{_short(ratio)} ({_short(low)}..{_short(high)})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def child(code: str, *arguments: object, **environment: str) -> str:
    """What a fresh interpreter prints, of the same installation as this one.

    The code may import the modules of this folder.
    """
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    places = [str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    there = {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    variables = {**os.environ, **there, **environment}
    finished = subprocess.run(command, check=True, capture_output=True, text=True, env=variables)
    return finished.stdout.strip()


def begin_peak() -> int:
    """The resident bytes now; the peak counts from here on, where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return _status("VmRSS")


def peak() -> int:
    """The most resident bytes so far."""
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) * 1024


def table(rows: Sequence[Row]) -> str:
    """The rows under their headings, in columns, each note below its row."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    found = [line(HEADINGS), line(["-" * width for width in widths])]
    found += [line(row.cells()) for row in rows]
    notes = dict.fromkeys(row.note for row in rows if row.note)
    return "\n".join([*found, "", *(f"- {note}" for note in notes)])
