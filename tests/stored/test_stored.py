"""What one version wrote, every later one reads: pickles and JSON name what people type."""

import json
import pickle
from functools import cache
from pickletools import genops
from typing import Any

import pytest
from stored_values import FOLDER, PIPELINES, PLAIN, RELEASES, made, read_pickle, release_of, shown

import opendp_lite as dp
from tests.public_names import modules_in

FILES = sorted(FOLDER.glob("*.json"))


@cache
def document(path):
    """What a version wrote."""
    return json.loads(path.read_text("utf-8"))


def entries(kind: str):
    """All stored values of a kind, by version and by what was typed."""
    return [
        pytest.param(document(path)[kind][code], code, id=f"{path.stem} {code}")
        for path in FILES
        for code in document(path)[kind]
    ]


def check(entry, value) -> None:
    """A value that was read again says what it said, and may say more.

    Standard errors are matrix products of what is stored, and each machine's kernel adds them up
    in its own order.
    """
    said = shown(value)
    found, expected = _flatten(said), _flatten({key: entry[key] for key in said})
    assert found.keys() >= expected.keys()
    for path, value in expected.items():
        near = pytest.approx(value, rel=1e-12, abs=0) if type(value) is float else value
        assert found[path] == near, path


def _flatten(value, path: str = ""):
    """All that a JSON value holds, each by its path."""
    if not isinstance(value, dict | list):
        return {path: value}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    found = {path: len(value)} if isinstance(value, list) else {}
    for key, each in parts:
        found |= _flatten(each, f"{path}/{key}")
    return found


@pytest.mark.parametrize(("entry", "code"), entries("pipelines"))
def test_pipelines_are_read(entry, code):
    for found in (read_pickle(entry), dp.from_json(entry["json"])):
        check(entry, found)
        assert found == made(code)
        assert type(found) is type(made(code))


@pytest.mark.parametrize(("entry", "code"), entries("plain"))
def test_spaces_budgets_and_results_are_read(entry, code):
    check(entry, read_pickle(entry))
    assert read_pickle(entry) == made(code)


@pytest.mark.parametrize(("entry", "code"), entries("releases"))
def test_releases_are_read(entry, code):
    check(entry, read_pickle(entry))


def test_a_session_release_is_read_with_its_receipt():
    release = dp.session([1.0] * 50, dp.epsilon(1))(dp.count() >> dp.laplace(epsilon=1), note="t 3")
    found = pickle.loads(pickle.dumps(release))
    assert found == release
    assert str(found.statement()) == str(release.statement())
    assert not modules_in(release)


@pytest.mark.parametrize("code", [*PIPELINES, *PLAIN])
def test_pickles_name_no_module_of_the_package(code):
    assert not modules_in(made(code))


@pytest.mark.parametrize("code", RELEASES)
def test_releases_name_no_module_of_the_package(code):
    assert not modules_in(release_of(code))


@dp.stage
def unchanged(space: dp.Space[dp.Rows]) -> dp.Transformation[Any, Any]:
    """A step of a person's own."""
    return dp.row_map(space, lambda block: block, space.domain.body)


def test_a_step_of_a_persons_own_is_found_in_its_module():
    pipeline = dp.clamp(0, 1) >> unchanged() >> dp.sum()
    written = pickle.dumps(pipeline)
    assert pickle.loads(written) == pipeline
    assert f"{__name__}:unchanged" in {text for _, text, _ in genops(written)}
