"""The tables that come with the package."""

from collections import Counter
from pathlib import Path

import numpy as np

import opendp_lite as dp

SOURCE = Path(__file__).parents[2] / "docs" / "data" / "rand_hie.csv"


def test_doctor_visits_are_the_rows_of_their_source():
    source = np.genfromtxt(SOURCE, delimiter=",", names=True)
    flags = [source[name] == 1 for name in ("hlthg", "hlthf", "hlthp")]
    health = np.select(flags, ["good", "fair", "poor"], "excellent")
    coinsurance = np.round(np.expm1(source["lncoins"])).astype(int)
    wanted = Counter(zip(source["mdvis"].astype(int), health, coinsurance, strict=True))
    assert Counter(zip(*dp.data.doctor_visits().values(), strict=True)) == wanted


def test_each_reading_has_its_own_arrays():
    table, again = dp.data.doctor_visits(), dp.data.doctor_visits()
    table["visits"][:] = 0
    assert again["visits"].any()
