"""Pictures of released numbers: where each stands, what they say, and how many there are."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.by_group import ByGroup
from opendp_lite.estimates import Estimates
from opendp_lite.estimators.distributions.histogram_release import Histogram
from opendp_lite.strips import Scale, Spot

SVG = "{http://www.w3.org/2000/svg}"
INF, NAN = float("inf"), float("nan")


def pictures_of(release: Any) -> list[ElementTree.Element]:
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


def histogram(counts: Any) -> Histogram:
    keys = tuple(f"<key {place}>" for place in range(len(counts)))
    return Histogram(("a",), keys, np.array(counts), 1.5, 3, 4, 0.95)


def estimate(value: float, low: float, high: float, **asked: Any) -> dp.Estimate:
    return dp.Estimate(value, 1.0, (low, high), 0.95, **asked)


def test_bars_reach_from_zero_to_the_count() -> None:
    bars = [picture.find(f"{SVG}rect") for picture in pictures_of(histogram([50, -20, 0]))]
    starts, widths = ([float(bar.attrib[key]) for bar in bars] for key in ("x", "width"))
    whole = 150 / (53 + 23)
    assert widths == pytest.approx([50 * whole, 20 * whole, 0], abs=0.01)
    assert starts == pytest.approx([5 + 23 * whole, 5 + 3 * whole, 5 + 23 * whole], abs=0.01)


def test_dots_and_intervals_stand_on_the_bounds() -> None:
    (picture,) = pictures_of(estimate(25, 20, 40, bounds=(0, 100)))
    assert float(picture.find(f"{SVG}circle").attrib["cx"]) == 5 + 150 * 0.25
    drawn = [path.attrib["d"] for path in picture.iter(f"{SVG}path")]
    assert any(path.startswith("M35.0 8H65.0") for path in drawn)
    assert picture.find(f"{SVG}title").text == "25, interval 20 to 40"
    assert pictures_of(estimate(25, 20, 40)) == []


def test_a_mean_knows_its_bounds() -> None:
    asked: dict[str, Any] = {"rho": 1, "confidence": 0.95}
    assert dp.mean(-3, 100, **asked)([40.0] * 100).bounds == (-3.0, 100.0)
    assert dp.variance(-3, 100, **asked)([40.0] * 100).bounds is None


@pytest.mark.parametrize("count", [1, 5, 20])
def test_a_picture_for_each_count(count: int) -> None:
    assert len(pictures_of(histogram(range(count)))) == count


@pytest.mark.parametrize("count", [21, 1000, 5000])
def test_many_counts_are_one_line_and_the_first_rows(count: int) -> None:
    whole, *rows = pictures_of(histogram(range(count)))
    assert len(rows) == 20
    band, _, line = (path.attrib["d"] for path in whole.iter(f"{SVG}path"))
    assert line.count("L") + 1 == 2 * min(count, 1000)
    assert band.count("L") + 1 == 4 * min(count, 1000)
    assert f"<key {min(count, 1000) - 1}>" in whole.find(f"{SVG}desc").text
    assert len(histogram(range(count))._repr_html_()) < 150_000


def test_groups_of_numbers_share_a_scale() -> None:
    found = ByGroup("sex", {"f": estimate(1, 0, 2), "m": estimate(9, 8, 10)})
    dots = [float(picture.find(f"{SVG}circle").attrib["cx"]) for picture in pictures_of(found)]
    assert dots == [5 + 150 * 0.1, 5 + 150 * 0.9]
    assert len(pictures_of(ByGroup("sex", {"f": 1.5, "m": 2}))) == 2
    assert pictures_of(ByGroup("sex", {"f": "1", "m": 2})) == []
    assert pictures_of(ByGroup("sex", {})) == []


def test_estimates_are_dots() -> None:
    assert len(pictures_of(Estimates.around([12.0, -7.5], 1.0, 2.0, 3.0, 0.9))) == 2
    assert len(pictures_of(Estimates.around(np.arange(40.0), 1.0, 2.0, 3.0, 0.9))) == 21


def test_a_distribution_is_a_rising_line() -> None:
    rows = np.linspace(0, 9, 1000)
    for found in (
        dp.cdf(0, 10, rho=1)(rows),
        dp.estimators.basis_distribution(dp.bases.Haar(4, 0, 10), rho=1)(rows),
    ):
        (picture,) = pictures_of(found)
        line = list(picture.iter(f"{SVG}path"))[-1].attrib["d"]
        corners = np.array([each.split() for each in line[1:].split("L")], dtype=float)
        assert (np.diff(corners[:, 0]) > 0).all()
        assert corners[0, 1] - corners[-1, 1] > 90


def test_numbers_far_out_and_missing_ones_stay_within_the_picture() -> None:
    scale = Scale.around([Spot(1e308, -1e308, INF), Spot(NAN, NAN, NAN)])
    assert (scale.low, scale.high) == (-1e308, 1e308)
    assert scale.dot(Spot(NAN, 0, 1)) == scale.bar(Spot(NAN, 0, 1)) == ""
    for spot in (Spot(1e308, -1e308, INF), Spot(-INF, -INF, INF), Spot(0, NAN, NAN)):
        picture = ElementTree.fromstring(scale.dot(spot))
        assert 5 <= float(picture.find(f"{SVG}circle").attrib["cx"]) <= 155
    lost = Estimates.around([INF, NAN, 3.0], 1.0, 1.0, 1.0, 0.9)
    assert ElementTree.fromstring(lost._repr_html_()).tag == "div"
