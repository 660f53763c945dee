"""The command that makes the releases of a saved pipeline."""

import json

import pytest

import opendp_lite as dp

AGE = dp.select("age")
REPORT = dp.compose(
    rows=dp.count() >> dp.laplace(epsilon=100, confidence=0.95),
    age=AGE >> dp.mean(0, 100, epsilon=100, confidence=0.95, sampling=False),
    sex=dp.histogram("sex", categories=["f", "m", None], epsilon=100),
)


@pytest.fixture
def saved(table):
    """Writes a pipeline to a file."""

    def save(pipeline):
        return table(pipeline.to_json(), "pipeline.json")

    return save


READ = ["--numbers", "age", "--words", "sex"]


def test_all_releases_as_text_and_in_a_file(made, told, survey, saved, tmp_path):
    output = tmp_path / "release.json"
    pipeline = saved(REPORT)
    text = made("report", survey, "--pipeline", pipeline, *READ, "--output", output)
    assert text.startswith("rows:")
    assert "\nsex:\n  sex      count" in text
    last = "loss for adding or removing one row: epsilon = 300 (pure differential privacy)"
    assert text.splitlines()[-1] == last
    found = json.loads(output.read_text())
    assert found["releases"]["rows"]["value"] == 7
    assert found["releases"]["sex"]["counts"] == [3, 2, 1]
    assert found["loss"] == {"measure": "MaxDivergence", "value": 300.0}
    assert found["neighbours"] == "adding or removing one row"
    assert eval(found["pipeline"], {"dp": dp}) == REPORT.bound
    same = told("report", survey, "--pipeline", pipeline, *READ, "--explain")
    assert same["releases"]["sex"]["counts"] == [3, 2, 1]
    assert "  age:" in same["explain"]


def test_people_and_pipelines_of_one_part(told, survey, saved):
    chosen = dp.table(person="id") >> dp.bound_contributions(1) >> dp.select("id") >> dp.count()
    pipeline = saved(chosen >> dp.gaussian(rho=1e6))
    words = ["--pipeline", pipeline, "--words", "id"]
    found = told("report", survey, *words)
    assert found["releases"] == pytest.approx(4, abs=0.01)
    assert found["neighbours"] == "adding or removing one person"


def test_what_is_wrong_is_refused_before_the_data_are_read(refused, survey, saved, tmp_path):
    pipeline = saved(REPORT)
    nowhere = tmp_path / "none.csv"

    def told(*words):
        return refused("report", nowhere, *words)

    assert "arguments are required: --pipeline" in told(*READ)
    assert "--numbers NAME ... and --words NAME" in told("--pipeline", pipeline)
    assert "the name must end in .json, got" in told(
        "--pipeline", pipeline, *READ, "--output", "release.csv"
    )
    same = ["--pipeline", pipeline, *READ, "--output", pipeline, "--force"]
    assert "is a file that is read" in told(*same)
    assert "there is no file" in told("--pipeline", tmp_path / "none.json", *READ)
    assert "'age' is asked for twice" in told(
        "--pipeline", pipeline, "--numbers", "age", "--words", "age"
    )
    no_noise = saved(dp.clamp(0, 1) >> dp.sum())
    assert "does not end in noise" in told("--pipeline", no_noise, *READ)
    pipeline.write_text("{}")
    assert "this is not a pipeline" in told("--pipeline", pipeline, *READ)
    pipeline.write_text("{}", encoding="utf-16")  # as PowerShell writes it
    assert "is no UTF-8 text; save it as UTF-8" in told("--pipeline", pipeline, *READ)
    saved(REPORT)
    missing = refused("report", survey, "--pipeline", pipeline, "--numbers", "age")
    assert "reads the column 'sex', which you did not name: add it to --numbers" in missing
    assert "did you mean" not in missing
