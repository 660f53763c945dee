"""Which tests notice which mutants: ``python tests/mutants ROOM``.

A line of the package is changed, the tests that run it are run, and a mutant that none of them
notices has survived.

    python tests/mutants bodies measures/curve.py              # with tests/bodies, tests/measures
    python tests/mutants numbers/norms --tests tests/test_norms.py tests/test_core.py
    python tests/mutants bodies --out before.json              # keep the matrix
    python tests/mutants bodies --same before.json             # the same mutants again

At the end stand the survivors, and the tests whose kills others have: dropping them all together
loses no kill of these mutants. Cheap tests come first, and a mutant is left after ``--kills`` of
them; a test dearer than ``--dear`` seconds runs only against what no cheaper one kills. So a dear
test has kills where it is needed. Needs Python 3.12 and a system that forks.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

# Threads do not survive a fork: what waits for one that the tests began on import waits for ever.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import attrs
import pytest
from mutations import ROOT, Mutant, draw
from runner import Matrix

from tests.test_survivors import SURVIVORS

KNOWN = {"{file}: {old}  =>  {new}".format(**each) for each in SURVIVORS}


def main() -> None:
    """Draws the mutants, fills the matrix, prints and keeps it."""
    words = argparse.ArgumentParser(
        "mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("rooms", nargs="+", help="folders or files of the package")
    words.add_argument("--tests", nargs="+", help="by default those of the same names")
    words.add_argument("--count", type=int, default=200, help="of mutants, 200 by default")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--same", help="take the mutants of this matrix")
    words.add_argument("--out", help="where the matrix is kept, as JSON")
    words.add_argument("--kills", type=int, default=10, help="leave a mutant after so many kills")
    words.add_argument("--dear", type=float, default=0.3, help="seconds, 0.3 by default")
    words.add_argument("--quiet", action="store_true", help="no line for each mutant")
    given = words.parse_args()
    os.chdir(ROOT)
    if given.same:
        mutants = [
            Mutant(*each["mutant"]) for each in json.loads(Path(given.same).read_text())["kills"]
        ]
    else:
        mutants = draw(given.rooms, given.count, given.seed, KNOWN)
    kills: list[dict] = []

    def report(mutant: Mutant, killers: list[str], seconds: float) -> None:
        kills.append({"mutant": attrs.astuple(mutant), "killers": killers})
        if not given.quiet:
            print(f"{len(killers):4d} {seconds:6.1f} s  {mutant}", flush=True)

    matrix = Matrix(mutants, given.dear, given.kills, report)
    began = time.monotonic()
    tests = given.tests or [_find_tests(room) for room in given.rooms]
    pytest.main(["-p", "no:terminal", *tests], [matrix])
    seconds = matrix.baseline.seconds
    if given.out:
        Path(given.out).write_text(json.dumps({"seconds": seconds, "kills": kills}))
    _print(seconds, kills, matrix.baseline.failing)
    print(f"{time.monotonic() - began:.0f} s")


def _find_tests(room: str) -> str:
    folder = Path("tests") / room
    return str(folder if folder.is_dir() else folder.with_name(f"test_{folder.stem}.py"))


def _print(seconds: dict[str, float], kills: list[dict], failing: list[str]) -> None:
    for test in failing:
        print("fails without a mutant:", test)
    alive = [Mutant(*each["mutant"]) for each in kills if not each["killers"]]
    for mutant in alive:
        print("survived:", mutant)
    spare = _find_spare(seconds, [set(each["killers"]) for each in kills])
    for test in sorted(spare, key=seconds.__getitem__):
        killed = sum(test in each["killers"] for each in kills)
        print(f"spare: {seconds[test]:6.2f} s {killed:4d} kills  {test}")
    print(
        f"{len(kills)} mutants, {len(kills) - len(alive)} killed by {len(seconds)} tests of "
        f"{sum(seconds.values()):.1f} s; {len(spare)} tests of "
        f"{sum(map(seconds.__getitem__, spare)):.1f} s have no kill of their own"
    )


def _find_spare(seconds: dict[str, float], killers: list[set[str]]) -> set[str]:
    """Tests without which every mutant still dies, those of fewest kills a second first."""
    of_test: dict[str, list[set[str]]] = {test: [] for test in seconds}
    for each in killers:
        for test in each:
            of_test[test].append(each)
    spare = set()
    for test in sorted(seconds, key=lambda test: len(of_test[test]) / (seconds[test] + 0.001)):
        if all(len(each) > 1 for each in of_test[test]):
            spare.add(test)
            for each in of_test[test]:
                each.discard(test)
    return spare


if __name__ == "__main__":
    main()
