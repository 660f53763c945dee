"""The words that a survey office searches for most, and the pages that are to be found."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RIGHT: dict[str, set[str]] = {
    "mean": {"mean"},
    "average": {"mean"},
    "weights": {"mean"},
    "weighted mean": {"mean"},
    "outliers": {"mean"},
    "income": {"mean", "quantiles"},
    "median": {"quantiles"},
    "quantiles": {"quantiles"},
    "percentile": {"quantiles"},
    "quartiles": {"quantiles"},
    "deciles": {"quantiles"},
    "variance": {"spread"},
    "standard deviation": {"spread"},
    "correlation": {"regression", "spread"},
    "distribution": {"distributions"},
    "regression": {"regression"},
    "slope": {"regression"},
    "t-test": {"tests-of-differences"},
    "p-value": {"tests-of-differences"},
    "significance": {"tests-of-differences"},
    "chi-square": {"tests-of-differences"},
    "most frequent": {"frequent-values"},
    "top 10": {"frequent-values"},
    "dates": {"dates"},
    "month": {"dates"},
    "time series": {"dates"},
    "trend": {"dates"},
    "count": {"histograms", "groups"},
    "histogram": {"histograms"},
    "categories": {"histograms"},
    "frequency table": {"histograms"},
    "crosstab": {"histograms"},
    "contingency table": {"histograms"},
    "proportion": {"survey-table"},
    "percentage": {"survey-table"},
    "share": {"survey-table"},
    "difference": {"survey-table", "tests-of-differences"},
    "ratio": {"survey-table"},
    "suppression": {"survey-table"},
    "rounding": {"survey-table"},
    "small counts": {"survey-table"},
    "publish": {"survey-table", "statements"},
    "export": {"survey-table", "files"},
    "margin of error": {"intervals"},
    "confidence interval": {"intervals"},
    "standard error": {"intervals"},
    "accuracy": {"intervals"},
    "uncertainty": {"intervals"},
    "population": {"intervals", "mean"},
    "sampling error": {"intervals"},
    "sample": {"intervals"},
    "sampling": {"intervals"},
    "groups": {"groups"},
    "subgroups": {"groups"},
    "filter": {"groups"},
    "sum": {"groups", "pipelines"},
    "total": {"groups", "pipelines"},
    "pandas": {"groups", "files"},
    "week": {"dates"},
    "missing values": {"missing-values"},
    "nonresponse": {"missing-values"},
    "imputation": {"missing-values"},
    "household": {"people"},
    "respondents": {"people"},
    "panel": {"people"},
    "csv": {"files", "command-line"},
    "chart": {"pictures"},
    "plot": {"pictures"},
    "report": {"pipelines", "sessions", "statements"},
    "budget": {"sessions", "ledger"},
    "epsilon": {"choosing-epsilon"},
    "anonymity": {"privacy"},
    "disclosure": {"privacy"},
}
"""The pages of which one is right."""


@pytest.mark.parametrize("word", RIGHT)
def test_a_right_page_says_that_it_is_searched_for(word):
    """So it is found first: an entry of the index counts more than words in a text."""
    pages = [(ROOT / f"docs/{page}.md").read_text() for page in RIGHT[word]]
    said = [line for page in pages for line in re.findall("<!-- search: (.+) -->", page)]
    assert word in ", ".join(said).split(", ")
