"""Numbers that must be the same in a browser, where integers have 32 bits and no thread starts.

Run by CPython and by Pyodide. Each prints one line of JSON: what every declared example of a step
releases with a seed and what it states as its loss, and the integers of sums in several containers.
"""

import json
import traceback
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

import opendp_lite as dp
from opendp_lite.spaces.space import examples_of
from opendp_lite.spaces.tables import tables_in
from tests.public_names import STEPS, returned

ROWS = 100_001
"""Of up to 1e6 each: their sum has more than 32 bits."""


def data_for(space):
    """Rows of the form that a space asks for, without integers drawn: those differ by platform."""
    domain = tables_in(space.domain)
    generator = np.random.default_rng(7)
    if isinstance(domain, dp.Rows):
        size = 400 if domain.size is None else domain.size
        return np.floor(generator.normal(3, 20, (size, domain.columns)))
    vector = np.floor(generator.normal(3, 20, domain.dimension))
    return vector if isinstance(domain, dp.Vectors) else float(vector[0])


def releases() -> Iterator[tuple[str, object]]:
    """The loss of each declared example, and what it gives for some rows and a seed."""
    for path, step in STEPS.items():
        for number, given in enumerate(examples_of(step)):
            try:
                yield from of_example(f"{path} {number}", given.space, step, given)
            except Exception as problem:
                # One that fails hides no other.
                where = traceback.extract_tb(problem.__traceback__)[-4:]
                yield f"{path} {number} fails", [str(problem), *map(str, where)]


def of_example(name: str, space, step, given) -> Iterator[tuple[str, object]]:
    bound = space >> step(*given.args, **given.kwargs)
    if returned(step) is dp.Measurement:
        yield f"{name} loses", repr(bound.map(space.unit))
        yield f"{name} gives", flat(bound.insecure_release(data_for(space), 5).value)
    else:
        yield f"{name} gives", flat(bound(data_for(space)))


def flat(found: object) -> object:
    """A result as JSON, floats as they are."""
    if isinstance(found, Mapping):
        return {str(key): flat(value) for key, value in found.items()}
    if isinstance(found, np.ndarray | list | tuple):
        return [flat(each) for each in list(found)]
    if isinstance(found, bool | int | np.integer | np.bool_):
        return str(int(found))
    if isinstance(found, float | np.floating):
        return float(found)
    if hasattr(found, "as_dict"):
        return flat(found.as_dict())
    return str(found)


def sums() -> Iterator[tuple[str, object]]:
    """Exact sums of numbers of several types, in several containers."""
    numbers = (np.arange(ROWS, dtype=np.int64) * 7919) % 1_000_003
    pipeline = dp.clamp(0, 10**6) >> dp.sum()
    for kind in ("int32", "uint32", "int64", "float32", "float64"):
        column = numbers.astype(kind)
        for name, each in {
            "numpy": column,
            "reversed": column[::-1],
            "pandas": pd.Series(column),
            "list": column.tolist(),
        }.items():
            yield f"sum of {kind} {name}", flat((dp.records(1) >> pipeline)(each))


def main() -> None:
    print(json.dumps({**dict(sums()), **dict(releases())}))


if __name__ == "__main__":
    main()
