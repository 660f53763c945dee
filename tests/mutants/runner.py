"""Runs tests against mutants: a process for each, forked after the tests are collected once."""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.util
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TextIO

import attrs
import pytest
from _pytest.runner import runtestprotocol
from mutations import PACKAGE, ROOT, Mutant

SLOWER = 10
"""A test that takes so many times its seconds, and two more, counts as failed: an endless loop."""

WALL = 120

FIRST = 20
"""So many tests are tried before the others: what changes an import is run in a process of its own,
which collects the files of these alone, and most mutants die here."""


@attrs.define
class Baseline:
    """The tests as they are: their seconds, and the lines of the package that each runs."""

    seconds: dict[str, float] = attrs.Factory(dict)
    lines: dict[str, set[tuple[str, int]]] = attrs.Factory(dict)
    failing: list[str] = attrs.Factory(list)

    def candidates(self, mutant: Mutant, lines: set[int] | None) -> list[str]:
        """The tests that run one of the lines; one of the file for lines that run on import."""

        def runs(place: tuple[str, int]) -> bool:
            return place[0] == mutant.file and (lines is None or place[1] in lines)

        return [test for test, found in self.lines.items() if any(map(runs, found))]


@attrs.define
class Matrix:
    """A plugin of pytest that fills the matrix instead of running the tests once."""

    mutants: list[Mutant]
    dear: float
    most: int
    report: Callable[[Mutant, list[str], float], None]
    baseline: Baseline = attrs.Factory(Baseline)
    kills: Counter[str] = attrs.Factory(Counter)
    imported: _Imported = attrs.Factory(lambda: _Imported({}, []))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        self.imported = _import_all({mutant.module for mutant in self.mutants})
        measure = partial(_measure, items.values(), self.imported.caches)
        for test, seconds, failed, lines in _fork(measure):
            if failed:
                self.baseline.failing.append(test)
            else:
                self.baseline.seconds[test] = seconds
                self.baseline.lines[test] = {tuple(line) for line in lines}
        for mutant in self.mutants:
            self._run(mutant, items)
        return True

    def _run(self, mutant: Mutant, items: dict[str, pytest.Item]) -> None:
        place = mutant.place()
        if place is None:
            return
        line, source = place
        started = time.monotonic()
        cost = self.baseline.seconds
        lines = _find_lines(mutant, source)
        tests = self.baseline.candidates(mutant, lines and (lines & {line} or lines))
        tests.sort(key=lambda test: (cost[test] + 0.01) / (1 + self.kills[test]))
        cheap = [test for test in tests if cost[test] <= self.dear]
        dear = [test for test in tests if cost[test] > self.dear]
        attempt = partial(self._attempt, mutant, source, items, lines is not None)
        killers = _find_killers(cheap[:FIRST], self.most, attempt)
        killers += _find_killers(cheap[FIRST:], self.most - len(killers), attempt)
        if not killers:
            killers = _find_killers(dear, 1, attempt)
        self.kills.update(killers)
        self.report(mutant, killers, time.monotonic() - started)

    def _attempt(
        self,
        mutant: Mutant,
        source: str,
        items: dict[str, pytest.Item],
        in_functions: bool,
        tests: list[str],
        most: int,
    ) -> Iterator[tuple[str, bool]]:
        limits = {test: SLOWER * self.baseline.seconds[test] + 2 for test in tests}
        if in_functions and self.imported.patch(mutant, source):
            yield from _outcomes([items[test] for test in tests], limits, most)
            return
        order = [sys.executable, __file__]
        with subprocess.Popen(
            order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as run:
            with run.stdin as asked:
                json.dump([attrs.astuple(mutant), source, limits, most], asked)
            yield from map(json.loads, run.stdout)


@attrs.frozen
class _Imported:
    """The functions of each file, and all caches, found once: a look at all objects is dear."""

    functions: dict[str, list[types.FunctionType]]
    caches: list[functools._lru_cache_wrapper]

    def patch(self, mutant: Mutant, source: str) -> bool:
        """Gives the functions of the file their changed code; False where they do not take it."""
        new = _compile(source, mutant)
        for each in self.functions.get(str(mutant.path), ()):
            place = (each.__code__.co_qualname, each.__code__.co_firstlineno)
            if place in new and new[place] != each.__code__:
                try:
                    each.__code__ = new[place]
                except ValueError:  # other free variables than before
                    return False
        for cache in self.caches:
            cache.cache_clear()
        return True


def _import_all(modules: Iterable[str]) -> _Imported:
    """A module that only a test imports would be imported as it is, without its mutant."""
    for module in modules:
        importlib.import_module(module)
    gc.unfreeze()
    gc.collect()
    functions: dict[str, list[types.FunctionType]] = {}
    caches = []
    for each in gc.get_objects():
        if type(each) is types.FunctionType:  # isinstance fails for proxies of what is gone
            functions.setdefault(each.__code__.co_filename, []).append(each)
        elif type(each) is functools._lru_cache_wrapper:
            caches.append(each)
    gc.freeze()
    return _Imported(functions, caches)


def _find_killers(tests: list[str], most: int, attempt: Callable[..., Iterator]) -> list[str]:
    """Tests that fail, so many at most; also those in which the process died or hung."""
    killers: list[str] = []
    while tests and len(killers) < most:
        done = 0
        for test, failed in _fork(partial(attempt, tests, most - len(killers))):
            done += 1
            if failed:
                killers.append(test)
        if done < len(tests) and len(killers) < most:
            killers.append(tests[done])
            done += 1
        tests = tests[done:]
    return killers


def _fork(work: Callable[[], Iterable[object]]) -> Iterator:
    """What a process of its own yields, as it comes; it ends early where that process dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        if worker := os.fork():
            os.waitpid(worker, 0)
            os.killpg(0, signal.SIGKILL)  # with what its tests began, which has the pipe too
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            for each in work():
                os.write(writing, json.dumps(each).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        yield from map(json.loads, lines)
    os.waitpid(child, 0)


def _measure(
    items: Iterable[pytest.Item], caches: Iterable[functools._lru_cache_wrapper]
) -> Iterator[tuple[str, float, bool, list]]:
    """Each test's seconds and the lines of the package that it runs."""
    tool, hit = 3, set()
    folder, events = f"{PACKAGE}{os.sep}", sys.monitoring

    def see(code: types.CodeType, line: int) -> object:
        if code.co_filename.startswith(folder):
            hit.add((code.co_filename.removeprefix(folder), line))
        return events.DISABLE

    events.use_tool_id(tool, "mutants")
    events.register_callback(tool, events.events.LINE, see)
    events.set_events(tool, events.events.LINE)
    items = [*items]
    for item, following in zip(items, [*items[1:], None], strict=True):
        for cache in caches:  # what an earlier test left in a cache would hide the lines behind it
            cache.cache_clear()
        hit.clear()
        events.restart_events()
        started = time.process_time()
        failed = any(each.failed for each in runtestprotocol(item, log=False, nextitem=following))
        yield item.nodeid, time.process_time() - started, failed, sorted(hit)


def _outcomes(
    items: list[pytest.Item], limits: dict[str, float], most: int
) -> Iterator[tuple[str, bool]]:
    signal.signal(signal.SIGPROF, _stop)
    for item, following in zip(items, [*items[1:], None], strict=True):
        signal.setitimer(signal.ITIMER_PROF, limits[item.nodeid])
        signal.alarm(WALL + int(SLOWER * limits[item.nodeid]))  # a deadlock takes no processor
        try:
            failed = any(
                each.failed for each in runtestprotocol(item, log=False, nextitem=following)
            )
        except BaseException:  # a mutant may break what pytest itself calls
            failed = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        yield item.nodeid, failed
        most -= failed
        if not most:
            item.session._setupstate.teardown_exact(None)  # a server would run on
            return


def _stop(*_: object) -> None:
    pytest.fail("this takes too long")


def _find_lines(mutant: Mutant, source: str) -> set[int] | None:
    """The lines of the functions that change; None where a module's or a class's own code does."""
    old, new = (_compile(text, mutant) for text in (mutant.path.read_text(), source))
    changed = [code for place, code in old.items() if _strip(code) != _strip(new.get(place))]
    if not all(code.co_flags & inspect.CO_OPTIMIZED for code in changed):
        return None
    return {line for code in changed for _, _, line in code.co_lines() if line}


def _compile(source: str, mutant: Mutant) -> dict[tuple[str, int], types.CodeType]:
    waiting = [compile(source, str(mutant.path), "exec", dont_inherit=True)]
    found = {}
    while waiting:
        code = waiting.pop()
        found[code.co_qualname, code.co_firstlineno] = code
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return found


def _strip(code: types.CodeType | None) -> tuple[object, ...]:
    """The code without that of the functions in it; nothing for what the compiler left out."""
    if code is None:
        return ()
    constants = [repr(each) for each in code.co_consts if not isinstance(each, types.CodeType)]
    return code.co_code, code.co_names, constants


@attrs.define
class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the mutated file from its changed source."""

    mutant: Mutant
    source: str

    def find_spec(self, name: str, path: object, target: object = None) -> object:
        if name != self.mutant.module:
            return None
        path = self.mutant.path
        folders = [str(path.parent)] if path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, str(path), loader=self, submodule_search_locations=folders
        )

    def get_source(self, fullname: str) -> str:
        return self.source

    def get_code(self, fullname: str) -> types.CodeType:
        return compile(self.source, str(self.mutant.path), "exec", dont_inherit=True)


@attrs.define
class _Afresh:
    """A plugin of pytest that writes the outcomes of one mutant, which was there on import."""

    limits: dict[str, float]
    most: int
    written: TextIO
    waiting: list[str]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        chosen = [items[test] for test in self.limits if test in items]
        for test, failed in _outcomes(chosen, self.limits, self.most):
            self.write(test, failed)
            self.most -= failed
            if not self.most:
                self.waiting.clear()
        return True

    def write(self, test: str, failed: bool) -> None:
        self.waiting.remove(test)
        print(json.dumps((test, failed)), file=self.written, flush=True)


def _run_afresh() -> None:
    signal.alarm(WALL)
    mutant, source, limits, most = json.load(sys.stdin)
    sys.path.insert(0, str(ROOT))
    sys.meta_path.insert(0, _Changed(Mutant(*mutant), source))
    with os.fdopen(os.dup(1), "w") as written:
        os.dup2(2, 1)
        files = dict.fromkeys(test.split("::")[0] for test in limits)
        again = _Afresh(limits, most, written, [*limits])
        pytest.main(["-p", "no:terminal", *files], [again])
        for test in [*again.waiting]:
            again.write(test, True)  # it is no longer collected


if __name__ == "__main__":
    _run_afresh()
