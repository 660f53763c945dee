"""Pictures of pipelines and of releases: each has a text alternative, and lies within its width."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.display.pictures import Scale, Spot
from opendp_lite.estimators.distributions.histograms import Histogram
from opendp_lite.explain.drawing import chain_lines, in_columns
from opendp_lite.explain.trace import walk
from opendp_lite.releases.estimates import ByGroup, Estimates
from opendp_lite.spaces.space import examples_of
from tests.public_names import STEPS

WIDTH = 100
SVG = "{http://www.w3.org/2000/svg}"
CALLS = [
    pytest.param(step, given, id=f"{path}-{place}")
    for path, step in STEPS.items()
    for place, given in enumerate(examples_of(step))
]
LOSS = dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=0.25)
COUNT = dp.count() >> dp.laplace(epsilon=0.5)


def picture_of(pipeline) -> ElementTree.Element:
    """The picture in what a notebook shows, which has to parse."""
    shown = ElementTree.fromstring(pipeline._repr_html_())
    (picture,) = shown.iter(f"{SVG}svg")
    return picture


def alternative_of(picture: ElementTree.Element) -> str:
    """The title and the description, found as a reader of screens finds them."""
    names = picture.attrib["aria-labelledby"].split()
    found = {each.attrib.get("id"): each.text or "" for each in picture.iter()}
    assert picture.attrib["role"] == "img"
    return "\n".join(found[name] for name in names)


@pytest.mark.parametrize(("step", "given"), CALLS)
def test_every_example_draws(step, given):
    bound = given.space >> step(*given.args, **given.kwargs)
    drawing, picture = bound.draw(), picture_of(bound)
    said, told = alternative_of(picture), drawing.explained
    assert told.result in said
    assert told.start in said
    for each in walk(told.steps):
        assert each.heading.removesuffix(":") in said
    assert max(map(len, str(drawing).splitlines())) <= WIDTH
    assert max(map(len, str(bound.explain(given.space.unit)).splitlines())) <= WIDTH
    for line in picture.iter(f"{SVG}text"):
        assert float(line.attrib["font-size"]) >= 11


@pytest.mark.parametrize(
    "pipeline",
    [
        dp.sum() >> dp.laplace(epsilon=1),
        dp.transformations.square(),
        LOSS >> abs,
        dp.compose(LOSS, COUNT),
    ],
)
def test_steps_that_wait_for_a_space_draw(pipeline):
    said = alternative_of(picture_of(pipeline))
    for step in pipeline.calls:
        assert step.heading in said
    assert max(map(len, str(pipeline.draw()).splitlines())) <= WIDTH


def test_what_waits_says_why():
    waiting = dp.sum() >> dp.laplace(epsilon=1)
    assert "not known yet: sum needs bounded values" in str(waiting.draw())
    with pytest.raises(dp.SpaceError, match="bounded values"):
        waiting.explain()


def test_distances_stand_at_arrows():
    lines = str((dp.clamp(0, 3) >> dp.sum() >> dp.laplace(epsilon=1)).draw(2)).splitlines()
    assert lines[0] == "adding or removing 2 rows"
    assert " |  6 (l1, l2, linf)" in lines
    assert lines[-1] == "loss: epsilon = 2 (pure differential privacy)"
    words = [each.text for each in picture_of(LOSS).iter(f"{SVG}text")]
    assert "100" in words


def test_parts_are_branches():
    both = dp.compose(total=LOSS, rows=COUNT)
    lines = str(both.draw()).splitlines()
    assert [line for line in lines if "+--" in line] == [" +-- total", " +-- rows"]
    assert sum(line.startswith(" |   [ dp.laplace(") for line in lines) == 2
    said = alternative_of(picture_of(both))
    assert said.index("Inside, total:") < said.index("dp.clamp") < said.index("Inside, rows:")


def test_text_of_a_person_is_escaped():
    sharp = "<script>alert('&')</script>"
    for pipeline in (
        dp.compose(**{sharp: COUNT}),
        dp.select(sharp) >> LOSS,
        dp.by(sharp, [sharp, ']]>"'], COUNT),
        dp.table(person=sharp) >> dp.bound_contributions(2) >> COUNT,
    ):
        for html in (pipeline._repr_html_(), pipeline.explain()._repr_html_()):
            assert "<script" not in html
            ElementTree.fromstring(html)


def test_pictures_need_no_network_and_run_nothing():
    html = dp.compose(LOSS, COUNT)._repr_html_()
    assert not re.search(r"<(script|style|image|link|use|a)\b|href|url\(|\son\w+=", html)
    assert re.findall(r"https?://[^\"']+", html) == ["http://www.w3.org/2000/svg"]


def test_a_picture_is_the_same_before_and_after_data():
    before = LOSS._repr_html_()
    LOSS([1e9, np.nan, -3.0])
    assert LOSS._repr_html_() == before


def test_an_explanation_is_its_text():
    told = LOSS.explain()
    assert repr(told) == str(told) == "\n".join(told.splitlines())
    assert "x 100       100" in told
    assert "nothing of the sort" not in told
    pre = ElementTree.fromstring(told._repr_html_())
    assert pre.tag == "pre"
    assert pre.text == str(told)


def test_columns_keep_their_width_and_their_words():
    rows = [["step", "domain"], ["a" * 70, "word " * 30], ["  b", "c"]]
    lines = in_columns(rows)
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.count("word") for line in lines) == 30
    assert sum(line.count("a") for line in lines) == 71


@pytest.mark.parametrize("letters", [46, 50, 80])
def test_a_long_name_breaks_by_itself_and_no_title_beside_it(letters):
    told = (dp.select("a" * letters) >> dp.mean(0, 3, epsilon=1)).explain()
    assert told.splitlines()[0].split()[-2:] == ["multiplier", "distance"]


@pytest.mark.parametrize(
    ("broken", "chain", "mark"),
    [
        (
            lambda: dp.clamp(0, 1) >> dp.gaussian(rho=1),
            "  dp.clamp(0, 1) >> dp.gaussian(rho=1)",
            "dp.gaussian(rho=1)",
        ),
        (
            lambda: (dp.scale(2) >> dp.sum() >> dp.laplace(epsilon=1)).map(1),
            "  dp.records() >> dp.scale(2) >> dp.sum() >> dp.laplace(epsilon=1)",
            "dp.sum()",
        ),
        (lambda: COUNT >> dp.sum(), f"  {COUNT!r} >> dp.sum()", "dp.sum()"),
        (lambda: dp.count() >> abs, "  dp.count() >> abs", "abs"),
        (
            lambda: dp.records() >> dp.clamp([0, 0], 1),
            "  dp.records() >> dp.clamp([0, 0], 1)",
            "dp.clamp([0, 0], 1)",
        ),
    ],
)
def test_a_broken_chain_shows_where(broken, chain, mark):
    with pytest.raises(dp.SpaceError) as problem:
        broken()
    (note,) = problem.value.__notes__
    line, carets = note.splitlines()
    assert line == chain
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == mark


def test_a_long_chain_is_wrapped_and_a_long_link_is_cut():
    lines = chain_lines([f"dp.center({k})" for k in range(30)], 17)
    assert max(map(len, lines)) <= WIDTH
    (at,) = [place for place, line in enumerate(lines) if "^" in line]
    start = lines[at].index("^")
    assert lines[at - 1][start:].startswith("dp.center(17)")
    secret = list(range(1000, 1100))
    with pytest.raises(dp.SpaceError) as problem:
        dp.records() >> dp.clamp(secret, 10_000)
    assert "1050" not in problem.value.__notes__[0]


def test_data_in_the_place_of_a_step_is_not_shown():
    with pytest.raises(dp.SpaceError) as problem:
        dp.clamp(0, 1) >> np.array([123.25])
    assert "123" not in problem.value.__notes__[0]
    with pytest.raises(dp.SpaceError) as problem:
        COUNT >> np.array([123.25])
    assert "123" not in problem.value.__notes__[0]


def test_budgets_and_releases_are_tables(tmp_path):
    ledger = dp.Ledger.create(tmp_path / "a", budget=dp.rho(1), unit="row", data="<b>")
    ask = ledger.session([41.0, 38.0] * 500)
    release = ask(dp.count() >> dp.gaussian(rho=0.25), note="<i>")
    total = ask(dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.25))
    for shown in (ledger, ask, release, total, dp.rho(1)):
        html = shown._repr_html_()
        ElementTree.fromstring(html)
        assert "rho = 1 zCDP" in html
        assert "<b>" not in html
        assert "<i>" not in html
    assert "rho = 0.25 zCDP" in release._repr_html_()
    assert "&lt;i&gt;" in ledger._repr_html_()


def test_a_mean_shows_its_inside():
    shown = str(dp.mean(0, 100, epsilon=1, confidence=None).draw())
    for part in (
        "[ dp.clamp(0, 100) ]",
        "+-- sum",
        "[ dp.sum() ]",
        "+-- count",
        "[ dp.count() ]",
        "of joint density",
        "[ mean = 50 + sum / rows, kept from 0 to 100 ]",
    ):
        assert part in shown
    explained = str(dp.mean(0, 100, rho=1, confidence=None).explain())
    assert all(part in explained for part in ("dp.center(50)", "sum:", "count:", "two rounds"))


INF, NAN = float("inf"), float("nan")


def pictures_of(release) -> list[ElementTree.Element]:
    """The pictures of a release in a notebook. Each says what it shows."""
    html = release._repr_html_()
    assert not re.search(r"<(script|style|image|link|use|a)\b|href|url\(|\son\w+=|nan|inf\b", html)
    found = list(ElementTree.fromstring(html).iter(f"{SVG}svg"))
    for picture in found:
        title, words = picture.attrib["aria-labelledby"].split()
        said = {each.attrib["id"]: each.text for each in picture.iter() if "id" in each.attrib}
        assert said[title]
        assert said[words]
    return found


def histogram(counts) -> Histogram:
    keys = tuple(f"<key {place}>" for place in range(len(counts)))
    return Histogram(("a",), keys, np.array(counts), 1.5, 3, 4, 0.95)


def estimate(value: float, low: float, high: float, **asked) -> dp.Estimate:
    return dp.Estimate(value, 1.0, (low, high), 0.95, **asked)


def test_bars_reach_from_zero_to_the_count():
    bars = [picture.find(f"{SVG}rect") for picture in pictures_of(histogram([50, -20, 0]))]
    starts, widths = ([float(bar.attrib[key]) for bar in bars] for key in ("x", "width"))
    whole = 150 / (53 + 23)
    assert widths == pytest.approx([50 * whole, 20 * whole, 0], abs=0.01)
    assert starts == pytest.approx([5 + 23 * whole, 5 + 3 * whole, 5 + 23 * whole], abs=0.01)


def test_dots_and_intervals_stand_on_the_bounds():
    (picture,) = pictures_of(estimate(25, 20, 40, bounds=(0, 100)))
    assert float(picture.find(f"{SVG}circle").attrib["cx"]) == 5 + 150 * 0.25
    drawn = [path.attrib["d"] for path in picture.iter(f"{SVG}path")]
    assert any(path.startswith("M35.0 8H65.0") for path in drawn)
    assert picture.find(f"{SVG}title").text == "25, interval 20 to 40"
    assert pictures_of(estimate(25, 20, 40)) == []


def test_a_mean_knows_its_bounds():
    assert dp.mean(-3, 100, rho=1)([40.0] * 100).bounds == (-3.0, 100.0)
    assert dp.variance(-3, 100, rho=1)([40.0] * 100).bounds is None


@pytest.mark.parametrize("count", [1, 5, 20])
def test_a_picture_for_each_count(count):
    assert len(pictures_of(histogram(range(count)))) == count


@pytest.mark.parametrize("count", [21, 1001])
def test_many_counts_are_one_line_and_the_first_rows(count):
    whole, *rows = pictures_of(histogram(range(count)))
    assert len(rows) == 20
    band, _, line = (path.attrib["d"] for path in whole.iter(f"{SVG}path"))
    assert line.count("L") + 1 == 2 * min(count, 1000)
    assert band.count("L") + 1 == 4 * min(count, 1000)
    assert f"<key {min(count, 1000) - 1}>" in whole.find(f"{SVG}desc").text
    assert len(histogram(range(count))._repr_html_()) < 150_000


def test_groups_of_numbers_share_a_scale():
    found = ByGroup("sex", {"f": estimate(1, 0, 2), "m": estimate(9, 8, 10)})
    dots = [float(picture.find(f"{SVG}circle").attrib["cx"]) for picture in pictures_of(found)]
    assert dots == [5 + 150 * 0.1, 5 + 150 * 0.9]
    assert len(pictures_of(ByGroup("sex", {"f": 1.5, "m": 2}))) == 2
    assert pictures_of(ByGroup("sex", {"f": "1", "m": 2})) == []
    assert pictures_of(ByGroup("sex", {})) == []


def test_estimates_are_dots():
    assert len(pictures_of(Estimates.around([12.0, -7.5], 1.0, 2.0, 3.0, 0.9))) == 2
    assert len(pictures_of(Estimates.around(np.arange(40.0), 1.0, 2.0, 3.0, 0.9))) == 21


def test_a_distribution_is_a_rising_line():
    rows = np.linspace(0, 9, 1000)
    for found in (
        dp.cdf(0, 10, rho=1, confidence=None)(rows),
        dp.estimators.basis_distribution(dp.bases.Haar(4, 0, 10), rho=1)(rows),
    ):
        (picture,) = pictures_of(found)
        line = list(picture.iter(f"{SVG}path"))[-1].attrib["d"]
        corners = np.array([each.split() for each in line[1:].split("L")], dtype=float)
        assert (np.diff(corners[:, 0]) > 0).all()
        assert corners[0, 1] - corners[-1, 1] > 90


def test_numbers_far_out_and_missing_ones_stay_within_the_picture():
    scale = Scale.around([Spot(1e308, -1e308, INF), Spot(NAN, NAN, NAN)])
    assert (scale.low, scale.high) == (-1e308, 1e308)
    assert scale.dot(Spot(NAN, 0, 1)) == scale.bar(Spot(NAN, 0, 1)) == ""
    for spot in (Spot(1e308, -1e308, INF), Spot(-INF, -INF, INF), Spot(0, NAN, NAN)):
        picture = ElementTree.fromstring(scale.dot(spot))
        assert 5 <= float(picture.find(f"{SVG}circle").attrib["cx"]) <= 155
    lost = Estimates.around([INF, NAN, 3.0], 1.0, 1.0, 1.0, 0.9)
    assert ElementTree.fromstring(lost._repr_html_()).tag == "div"
