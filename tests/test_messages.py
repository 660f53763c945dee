"""What people type by mistake, and what they are told: the step, what is wrong, what to type."""

import errno
import pickle
import re
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp
from opendp_lite.sessions.sessions import try_on_names

DAY = pd.Timestamp("2024-01-01")
mean = dp.mean(0, 100, epsilon=1)
ages = dp.select("age") >> mean
in_rho = dp.select("age") >> dp.mean(0, 100, rho=0.1)
frame = pd.DataFrame({"age": np.arange(100.0), "sex": ["f", "m"] * 50})
estimate = dp.mean(0, 100, epsilon=1, confidence=0.95)(frame["age"])
histogram = dp.histogram("sex", categories=["f", "m"], epsilon=1)(frame)
groups = dp.by("sex", ["f", "m"], ages)(frame)
cdf = dp.cdf(0, 100, epsilon=1)(frame["age"])
shares = dp.estimators.basis_distribution(dp.bases.Legendre(8, 0, 100), epsilon=1)(frame["age"])
session = dp.session(frame, dp.epsilon(1))
released = dp.session(frame, dp.epsilon(1))(dp.by("sex", ["f", "m"], ages))

TABLE = pd.DataFrame({"sex": ["f", "m"] * 40, "age": [20.125, 30.125] * 40})
AGES = TABLE["age"]
LAPLACE = dp.count() >> dp.laplace(epsilon=1)
SECOND = "data goes into a second call"
COLUMN = "the table has no column 'sxe'; did you mean 'sex'? The columns are"
TWO_LISTS = "2 columns need 2 lists of categories"
PIPELINE = (
    "dp.mean(0, 100, epsilon=1) is a pipeline, not a number yet: call it on data, as in pipel"
)
ERROR = (
    "an Estimate is a release with its error, and does not compute or compare: the error would b"
)
MESSAGES = [
    (
        "dp.records(columns=2) >> dp.clamp(1e-200, 2e-200) >> dp.transformations.outer_products()",
        "outer_products: bounds beyond 2^900 or below 2^-900 cannot be summed",
    ),
    ("mean()", "dp.mean(0, 100, epsilon=1) is called on data: write pipeline(data)"),
    ("dp.select('age')()", "dp.select('age') is called on data: write pipeline(data)"),
    ("(dp.records() >> mean)()", "dp.records() >> dp.mean(0, 100, epsilon=1) is called on data"),
    ("dp.select('age') | mean", "steps are joined by >>, not by |: write first >> second"),
    ("dp.records() | mean", "steps are joined by >>, not by |: write first >> second"),
    *((code, PIPELINE) for code in ("float(mean)", "int(mean)", "round(mean)", "mean+1", "1+mean")),
    *((code, PIPELINE) for code in ("1 - mean", "mean > 40", "frame['age'] * mean", "abs(mean)")),
    *((code, ERROR) for code in ("int(estimate)", "abs(estimate)", "estimate**2")),
    (
        "estimate * estimate",
        "two releases are not multiplied: the error of the product is not know",
    ),
    (
        "estimate - estimate",
        "may be of the same people, or have the same noise. Write dp.difference(",
    ),
    (
        "estimate / estimate",
        "Write dp.ratio(a, b, independent=True) if each is a sample of its own",
    ),
    ("estimate > 1", "lies above 1. Write float(release) to compare the value alone"),
    ("sorted([1, estimate])", "Write float(release) to compare the value alone"),
    (
        "dp.difference(estimate, 3)",
        "two released numbers with intervals, got int; add confidence=0",
    ),
    ("np.asarray(histogram)", "type release.to_frame() for a data frame, or release.records()"),
    ("pd.DataFrame(groups)", "type release.to_frame() for a data frame, or release.records()"),
    ("histogram + histogram", "Write release.as_dict() for what is released alone"),
    ("estimate.ci", "'Estimate' object has no attribute 'ci'; it has .interval"),
    ("estimate.conf_int()", "has no attribute 'conf_int'; it has .interval"),
    ("estimate.low", "has no attribute 'low'; it has .interval[0]"),
    ("estimate.intervall", "has no attribute 'intervall'; did you mean .interval?"),
    ("estimate.to_json()", "has no attribute 'to_json'; type release.as_dict()"),
    ("estimate.moe", "'Estimate' object has no attribute 'moe'; it has .interval"),
    ("histogram.total", "has no attribute 'total'; type release.table(total=True)"),
    ("groups.total()", "has no attribute 'total'; type release.table(total=True)"),
    ("groups.table(total=True)", "paid beside those of groups, as in dp.compose(all=mean"),
    ("histogram.round(5)", "has no attribute 'round'; type release.table(round=5)"),
    ("histogram.sort_values()", "has no attribute 'sort_values'; type release.to_frame()"),
    ("histogram['mm']", "there is no key 'mm'; there are 'f', 'm'"),
    ("histogram[{}, 'f']", "there is no key ({}, 'f'); there are 'f', 'm'"),
    *(
        (f"histogram.table({each}={{}})", f"{each} is an empty dict")
        for each in ("round", "digits")
    ),
    ("dp.records(columns=[*'abcdefga'])", "a column is named twice: 'a'"),
    (
        "dp.records(columns=['a', 'b']) >> dp.select([*'cdefghij'])",
        "8 columns are not there; the columns are 'a', 'b'",
    ),
    ("groups['F']", "there is no group 'F'; did you mean 'f'? There are 'f', 'm'"),
    ("np.log(-estimate)", "log: the release is not above 0; write float(release)"),
    ("sum([estimate, estimate])", "dp.difference(a, b, independent=True) if each is a sample of"),
    ("dp.spearman", "one row moves every rank: do not make ranks before a pipeline"),
    ("dp.mannwhitneyu", "nearest to it is dp.t_test("),
    ("(dp.select('sex') >> mean)(TABLE)", "Of words, table['owns'] == 'yes' makes True and False"),
    *(
        (f"{release}.{name}", f"has no attribute '{name}'; {words}")
        for release, names, words in (
            ("estimate", ("nobs", "n"), "it has .rows"),
            ("estimate", ("se", "sem"), "it has .standard_error"),
            ("estimate", ("confint",), "it has .interval"),
            ("estimate", ("cv",), "divide release.standard_error by release.value"),
            ("histogram", ("nlargest", "most_common", "unstack"), "type release.to_frame()"),
            ("histogram", ("to_latex", "to_markdown"), "type release.table(digits=2)"),
            ("histogram", ("diff",), "write release[second] - release[first]"),
            ("histogram", ("trend",), "a slope is sum(w * x for w, x in zip("),
            ("histogram.shares()", ("percent",), "type release.table(percent=True)"),
            ("groups", ("m",), "type release['m']"),
            ("session", ("remaining",), "it has .left"),
            ("groups", ("marginal",), "only counts add up"),
            ("session", ("history",), "keep what each ask(...) returns"),
        )
        for name in names
    ),
    ("100 * histogram.shares()", "or release.table(digits=1, percent=True) for a table to print"),
    ("dp.bootstrap", "nearest to it is the interval that comes with each release"),
    ("dp.mean(0, 9, epsilon=1, ci=0.9)", "in place of ci= it takes confidence=0.95"),
    ("dp.mean(0, 9, epsilon=1, weights='w')", "dp.select('x', 'w') >> dp.weighted_mean("),
    ("dp.histogram('sex', ['f', 'm'], epsilon=1)", "dp.histogram('sex', categories=['f', 'm'])"),
    ("dp.proportion('age', '>10', epsilon=1)", "dp.proportion('age', between=(10, None))"),
    ("dp.keep(sex='f')", "the column is text: dp.keep('sex', among=['f', 'm'])"),
    ("dp.private_quantile(0.5, 0, 9, epsilon=1)", "write dp.private_quantile(0.5, bounds=(0, 100)"),
    ("dp.period('day', 'M')", "got 'M'; did you mean 'month'?"),
    *(
        (f"dp.mean(0, 9, epsilon=1, {name}=1)", words)
        for name, words in {
            "groupby": "a group is a step around it: dp.by(",
            "where": "a step before keeps rows: dp.keep(",
            "seed": "no release takes a seed",
            "skipna": "missing values are left out",
            "mechanism": "the budget chooses the noise",
            "axis": "a step before picks the columns",
            "max": "in place of max= it takes lower, upper",
        }.items()
    ),
    ("dp.keep('age > 17')", "; write dp.keep('age', between=(17, None)), which counts 17 too"),
    ("dp.keep('age <= 17')", "; write dp.keep('age', between=(None, 17)), which counts 17 too"),
    (
        "dp.proportion(\"sex == 'f'\", epsilon=1)",
        "; write dp.proportion('sex', among=['f'])",
    ),
    ("dp.mean(0, 24, epsilon='5%')", "epsilon must be a number, got text; write a number, as in 0"),
    ("histogram.picture()", "'Histogram' object has no attribute 'picture'; type release.plot()"),
    (
        "LAPLACE(TABLE['sex'])",
        "To count rows of text, name the column of a table: dp.select('owns')",
    ),
    (
        "dp.histogram('sex', categories=[DAY], epsilon=1)(TABLE)",
        "put dp.period('day', 'month', form='%Y-%m-%d') before it, which reads text as dates",
    ),
    (
        "dp.session({'sex': ['f']}, dp.epsilon(1))(dp.histogram('sex', epsilon=0.1, delta=1e-6))",
        "Declare its categories or keys, or write dp.laplace where it has dp.gaussian",
    ),
    ("groups.table(percent=True)", "percent=True is for shares, and this release is none"),
    ("cdf.quantile_interval(0.1)", "type release.quantile(0.1)"),
    ("cdf.deciles()", "type release.quantile(0.1)"),
    ("dp.keep('age', min=18)", "in place of min= it takes between=(18, 65)"),
    ("dp.keep('sex', not_in=['f'])", "list the others, among=['f', 'm']"),
    ("dp.histogram('age', 10, epsilon=1)", "dp.histogram('age', edges=range(0, 101, 10))"),
    ("dp.histogram('sex', keys=['f'], epsilon=1)", "it takes categories=['f', 'm']"),
    ("dp.by('sex', categories=['f'], pipeline=mean)", "it takes keys=['f', 'm']"),
    ("dp.private_quantile(0.5, lower=0, upper=9, epsilon=1)", "it takes bounds=(0, 100)"),
    ("dp.linear_regression('y', ['x'], dict(x=(0, 1), y=(0, 1)), weights=1)", "weights are for"),
    ("dp.covariance(['x', 'y'], rho=1)", "dp.select('x', 'y') >> dp.covariance(...)"),
    ("dp.periods('week', '2024-01-01')", "add last='2024-12-31'"),
    ("histogram.table(decimals=1)", "in place of decimals= it takes digits=1"),
    ("histogram.table(threshold=9)", "in place of threshold= it takes suppress=10"),
    ("histogram.table().style", "'ReleaseTable' object has no attribute 'style'; type release.to"),
    ("estimate.p_value", "an interval without 0 says as much: see print(release)"),
    ("session.mean('age')", "a session is called on a pipeline: ask(dp.select('age') >> dp.mean("),
    ("mean.head()", "print(pipeline.explain()) shows its steps, print(pipeline(data)) a release"),
    ("mean.show()", "print(pipeline.explain()) shows its steps, print(pipeline(data)) a release"),
    ("mean.table()", "a release has it: pipeline(data).table"),
    ("mean(TABLE, 'age')", "is called on data alone, and a step before picks a column: dp.sel"),
    ("dp.seed(1)", "no seed repeats a release"),
    ("dp.top_k('sex', 5, epsilon=1)", "which comes first as in dp.top_k(5, 'city', ...)"),
    *(
        (f"dp.linear_regression('y ~ x + z'{more})", "dp.linear_regression('y', ['x', 'z'], bounds")
        for more in ("", ", {'y': (0, 1)}", ", ['x'], {'y': (0, 1)}", ", [], [], 3")
    ),
    (
        "dp.linear_regression('y', 'x + z', dict(y=(0, 1), x=(0, 1), z=(0, 1)), epsilon=1)",
        "dp.linear_regression('y', ['x', 'z'], bounds",
    ),
    ("dp.linear_regression('y', ['x'], 0, 9)", "write dp.linear_regression('pay', ['age'], {'pay'"),
    ("dp.linear_regression('y ~ x', data=TABLE)", "data goes into a second call: pipeline(data)"),
    (
        "dp.covariance({'a': (0, 1)}, rho=1)",
        "write dp.covariance([0, 0], [100, 10], rho=0.03), wit",
    ),
    ("dp.clamp([(0, 1), (0, 2)])", "write dp.clamp([0, 0], [100, 10]), with the lower bounds and"),
    (
        "dp.records(columns=['a']) >> dp.multivariate_mean({'A': (0, 1)}, rho=1)",
        "bound= lacks 'a' and has 'A', no column that is asked for",
    ),
    (
        "dp.linear_regression('pay', ['age'], {'pay': (0, 1), 'agee': (0, 1)}, epsilon=1)",
        "has 'agee', no column that is asked for (did you mean 'age'?)",
    ),
    ("dp.chi_square(['a', 'b'], ['f'], ['g'])", "write dp.chi_square(['sex', 'ill'], [['f', 'm']"),
    ("dp.chi_square(['a', 'b'])", "add categories=[['f', 'm'], ['yes', 'no']]"),
    *(
        (code, "the column 'a' stands there twice; name it once")
        for code in (
            "dp.chi_square(['a', 'a'], [['f', 'm'], ['f', 'm']], epsilon=1)",
            "dp.histogram(['a', 'a'], categories=[['f'], ['f']], epsilon=1)",
            "dp.by(['a', 'a'], [['f'], ['f']], LAPLACE)",
        )
    ),
    (
        "dp.proportion('sex', among=['f'], weights=AGES, most=4, epsilon=1)",
        "weights is the name of a column of the table, and most the largest weight that counts",
    ),
    ("dp.by('day', ['f'], ages, period='month')", "dp.period('day', 'month') >>, and dp.periods("),
    ("dp.proportion('age', above=7, epsilon=1)", "in place of above= it takes between=(18, 65)"),
    (
        "dp.t_test('age', 'sex', ['f', 'm'], 0, 10, epsilon=1)",
        "write dp.t_test('pay', 'sex', ['f', 'm'], bounds=(0, 100), epsilon=1)",
    ),
    ("groups.mean()", "'ByGroup' object has no attribute 'mean'; type release.table()"),
    ("groups.ratio('f', 'm')", "write release[second] / release[first]"),
    ("groups.difference('f', 'm')", "write release[second] - release[first]"),
    ("released.ci()", "'ByGroup' object has no attribute 'ci'; type release.table()"),
    ("pd.DataFrame(released)", "type release.to_frame() for a data frame, or release.records()"),
    ("dp.top_k(1, 'sex', categories=['f', 'm'], epsilon=1)(TABLE)['x']", "there is no value 'x'"),
    ("dp.session(budget=dp.rho(1))", "add a table or a column: dp.session(data, dp.epsilon(1))"),
    ("dp.session(dp.rho(1), frame)", "the data comes first: dp.session(data, dp.epsilon(1))"),
    (
        "(dp.select('day') >> mean)(TABLE.rename_axis('day'))",
        "The index is no column: table.reset_index() makes one of it",
    ),
    (
        "dp.linear_regression('a', ['b'], {'a': (0, 1)}, epsilon=1)",
        "bounds= lacks 'b'; type bounds={'a': (0, 100), 'b': (0, 100)}",
    ),
    ("dp.linear_regression(['a'], 'b', {}, epsilon=1)", "y is one name and comes first"),
    ("dp.linear_regression('a', None, {'a': (0, 1)}, epsilon=1)", "comes first, then x, as in"),
    ("dp.records() >> dp.one_hot(True)", "its arguments are categories: Sequence[object], edges:"),
    (
        "dp.records() >> dp.estimators.joint_mean(0, 1, epsilon=1, stretch=10**400)",
        "joint_mean(...): an argument is of a type or a size that it does not take; its argu",
    ),
    (
        "session(dp.histogram('sex', epsilon=0.1, delta=1e-6))",
        "dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1)",
    ),
    ("estimate.hist()", "'Estimate' object has no attribute 'hist'; type release.plot()"),
    ("histogram.ci", "'Histogram' object has no attribute 'ci'; it has .intervals"),
    ("histogram.to_pandas()", "has no attribute 'to_pandas'; type release.to_frame()"),
    (
        "groups.to_pandas()",
        "'ByGroup' object has no attribute 'to_pandas'; type release.to_frame()",
    ),
    ("shares.records()", "a Distribution is no table; type release.as_dict() for its parts"),
    ("dp.Ledger('x', budget=dp.rho(1), unit='row')", "dp.Ledger.create(path, budget=dp.rho(1)"),
    ("dp.Ledger(path='x')", "open a ledger by dp.Ledger.open(path)"),
    (
        "dp.mean([0, 0], [100, 24], epsilon=1)",
        "dp.multivariate_mean([(0, 100), (0, 24)], epsilon=1)",
    ),
    ("dp.Ledger.create('x', dp.rho(1))", "say whom it protects: unit='row', or unit='person'"),
    (
        "session(in_rho)",
        "the budget counts epsilon, and dp.table() >> dp.select('age') >> dp.mean(0, 100, rho=0.1) "
        "loses rho = 0.1 zCDP. Write epsilon= in the query, or take a budget that counts as the",
    ),
    (
        "dp.session(frame, dp.epsilon(1, delta=1e-6), query_delta=1e-6)(in_rho)",
        "loses rho = 0.1 zCDP. Write >> dp.to_approximate(1e-7) after it, or take a budget that",
    ),
    ("dp.histogram('age', edges=[DAY], epsilon=1)", "takes from 2 to 2^24 rising edges; got 1"),
    ("dp.keep('age', between=(DAY, 1))", "keep: between must be all dates, or all numbers"),
    ("dp.clamp(0, DAY)", "got a date (Timestamp); count days instead"),
    ("dp.mean(0, estimate, epsilon=1)", "(did you mean its .value?)"),
    (
        "dp.mean(0, 100, epsilon=dp.rho(1))",
        "a budget goes in by itself: dp.mean(0, 100, dp.rho(1))",
    ),
    (
        "dp.laplace(epsilon=dp.epsilon(0.5, delta=1e-6))",
        "a budget goes in by itself: dp.laplace(dp.epsilon(0.5, delta=1e-06))",
    ),
    ("dp.session(frame, epsilon=1)", "a budget is one value: dp.session(data, dp.epsilon(1))"),
    ("dp.session(data=frame, delta=1, epsilon=1)", "dp.session(data, dp.epsilon(1, delta=1e-6))"),
    (
        "dp.Ledger.create('x', rho=1, unit='row')",
        "a budget is one value: dp.Ledger.create(path, dp.rho(1), unit='row')",
    ),
    ("dp.session(frame, dp.rho(1), spice=1)", "in place of spice= it takes space"),
    ("dp.adaptive(print, mu=1)", "a budget is one value: dp.adaptive(program, dp.mu(1))"),
    ("dp.Ledger.__getattr__(None, 'report')", "opendp-lite ledger show FILE, in a shell"),
    (
        "dp.linear_regression('a', ['b'], {'a': (0, 1), 'b': ['f', 'm']}, epsilon=1)",
        "two numbers for each column, as in {'pay': (0, 100), 'age': (18, 65)}; of a category make",
    ),
    (
        "dp.histogram(['sex', 'age'], categories=[['f', 'm'], [1, 2]], epsilon=1)(TABLE)['f']",
        ". A key has a part for each column; release.marginal('sex') adds up",
    ),
    ("dp.Ledger.__getattr__(None, 'to_frame')", "json.loads(ledger.export())['entries']) has them"),
    ("dp.Ledger.__getattr__(None, 'statement')", "of the last release says what all have spent"),
    (
        "dp.Ledger.__call__(None, frame)",
        "a ledger opens sessions, and these answer: ask = ledger.session(data), then ask(pipeline)",
    ),
    ("dp.csv_column('x.csv', 'age', sep=',')", "in place of sep= it takes delimiter=','"),
    ("dp.csv_table('x.csv', {'age': float}, na_values=['-'])", "of na_values= it takes na"),
    ("dp.parquet('x.parquet', wanted=1)", "it is called dp.parquet(source, columns, filters=, "),
    ("mean.value", "'Mechanism' object has no attribute 'value'; a release has it: pipeline(data)"),
    ("(dp.records() >> mean).values", "a release has it: pipeline(data).values"),
    ("dp.select('age').mean(0, 100)", "steps are joined by >>: pipeline >> dp.mean(...)"),
    ("mean.run(TABLE)", "a pipeline is called on data: pipeline(data)"),
    ("dp.session({'people': TABLE, 'jobs': TABLE}, dp.rho(1))", "is one table, of columns by name"),
    ("ages({'age': [1.0, 2.0], 'sex': ['f']})", "the columns of the table differ in length"),
    ("mean.valve", "'Mechanism' object has no attribute 'valve'"),
    (
        "dp.bins(10)",
        "edges is a list, such as range(0, 101, 10) for ten bins from 0 to 100; got 10",
    ),
    (
        "dp.by('sex', [['f', 'm']], mean)",
        "by: the keys of one column are one list, such as ['f', 'm']; got a list in a list",
    ),
    ("dp.table >> ages", "dp.table is a space once it is called, with parentheses: dp.table()"),
    ("dp.records >> mean", "dp.records is a space once it is called, with parentheses: dp.rec"),
    ("dp.keep('age', 18, 65)", "write dp.keep(column, between=(18, 65))"),
    ("dp.keep('sex', AGES.tolist())", "dp.keep('sex', among=['f', 'm']) or between=(18, 65)"),
    (
        "dp.one_hot('sex', ['f', 'm'])",
        "a step before picks the column: dp.select('sex') >> dp.one_hot(categories=",
    ),
    ("dp.keep('sex', 'f')", "name the values: dp.keep('sex', among=['f'])"),
    (
        "dp.histogram(['sex', 'age'], [['f', 'm'], [1, 2]], epsilon=1)",
        "dp.histogram(['sex', 'age'], categories=[['f', 'm'], ['yes', 'no']])",
    ),
    ("dp.keep('sex', isin=['f'])", "in place of isin= it takes among=['f', 'm']"),
    ("dp.keep('day', between=('31.1.2024', None))", "is datetime.date(2024, 1, 31) or '2024-01-31"),
    ("dp.proportion('sex', 'f', epsilon=1)", "name the values: dp.proportion('sex', among=['f'])"),
    ("dp.proportion('sex')", "of a column of True and False, among=[True]"),
    (
        "dp.by(dp.period('day', 'month'), ['f'], mean)",
        "a step that makes it comes before: dp.period('day', 'month') >> dp.by('day', ...)",
    ),
    ("dp.mean(0, 9, person='id', epsilon=1)", "dp.table(person='id') >> dp.bound_contributions(3)"),
    ("dp.mean('age', 0, 60)", "write dp.select('age') >> dp.mean(0, 60, epsilon=1)"),
    ("dp.bound_contributions('id', 2)", "write dp.bound_contributions(3, person='id')"),
    ("LAPLACE([DAY.date()])", "or count: dp.histogram('day', edges=['2024-01-01', '2025-01-01']"),
    ("dp.sum('age')", "a step before picks the column: dp.select('age') >> dp.sum()"),
    (
        "dp.weighted_mean('pay', weights='w', bounds=(0, 9), most=3, epsilon=2)",
        "write dp.select('pay', 'w') >> dp.weighted_mean(0, 9, most=3, epsilon=2)",
    ),
    (
        "dp.mean('pay', bounds=(0, 9), by='sex', epsilon=2)",
        "write dp.select('pay') >> dp.mean(0, 9, epsilon=2)",
    ),
    (
        "dp.private_quantile([0.25, 0.5], (0, 9), epsilon=1)",
        "write dp.private_quantile(0.5, bounds=(0, 100), epsilon=1)",
    ),
    (
        "(dp.table() >> dp.histogram('sex', epsilon=1))(TABLE)",
        "epsilon=1, delta=1e-6; or declare them: categories=['f', 'm']",
    ),
    ("dp.weighted_mean(0, 9, epsilon=1)", "; add most=4, the largest weight that counts"),
    ("dp.t_test('age', 'sex', epsilon=1)", "; add keys=['f', 'm']"),
    ("dp.linear_regression('age', ['sex'], epsilon=1)", "add bounds={'y': (0, 100), 'x': (0, 10)}"),
    (
        "dp.linear_regression('a', ['b'], (0, 9), epsilon=1)",
        "for each column, as in {'pay': (0, 100",
    ),
    ("dp.session(frame, ledger='x')", "opens sessions itself: dp.Ledger.open(path).session(data)"),
    (
        "dp.csv_column('nothere.csv', 'age')",
        f"csv_column: there is no file 'nothere.csv', in the folder {str(Path.cwd())!r}; check its",
    ),
    (
        "dp.csv_table('/none/nothere.csv', {'age': float})",
        "csv_table: there is no file 'nothere.csv', as there is no folder '/none'; check its name",
    ),
    ("dp.parquet('nothere.parquet')", "parquet: there is no file 'nothere.parquet', in the folder"),
    (
        "dp.records() >> dp.sum()",
        "sum needs bounded values, and these may be anything: put dp.clamp",
    ),
    ("dp.count(TABLE)", f"{SECOND}: dp.count(...)(data)"),
    ("dp.sum(np.zeros(3))", f"{SECOND}: dp.sum(...)(data)"),
    ("dp.histogram(TABLE, 'sex', epsilon=1)", SECOND),
    ("dp.by(TABLE, 'sex', ['f', 'm'], LAPLACE)", SECOND),
    ("dp.clamp(AGES, 0, 1)", SECOND),
    ("dp.histogram(AGES, edges=[0, 50], epsilon=1)", f"column is a Series; the {SECOND}"),
    ("dp.private_quantile(AGES)", "quantiles is a Series"),
    ("dp.private_quantile(AGES.tolist(), bounds=(0, 1), epsilon=1)", f"the {SECOND}"),
    ("dp.table('id')", "dp.table(person='id')"),
    ("dp.table(TABLE)", SECOND),
    ("dp.records(TABLE)", SECOND),
    ("dp.laplace(rho=1)", "dp.gaussian(rho=0.03)"),
    ("dp.laplace(epsilon=1, delta=1e-6)", "dp.gaussian(epsilon=1, delta=1e-6)"),
    ("dp.laplace(1)", "by name, as in epsilon=1"),
    ("dp.gaussian(epsilon=1)", "dp.gaussian(epsilon=1, delta=1e-6), or dp.laplace(epsilon=1)"),
    ("dp.variance(epsilon=1)", "dp.variance(0, 100, epsilon=1)"),
    ("dp.clamp()", "dp.clamp(0, 100)"),
    (
        "dp.histogram('age', edges=10, epsilon=1)",
        "range(0, 101, 10) for ten bins from 0 to 100; got 1",
    ),
    (
        "dp.histogram('age', bins=10, epsilon=1)",
        "in place of bins= it takes edges=range(0, 101, 10",
    ),
    (
        "dp.histogram('sex', 'age', epsilon=1)",
        "several columns go into a list: dp.histogram(['sex', 'age'], ...)",
    ),
    ("dp.histogram(['sex', 'age'], categories=[['f', 'm']], epsilon=1)", TWO_LISTS),
    ("dp.histogram(['sex', 'age'], categories=['f', 'm'], epsilon=1)", TWO_LISTS),
    (
        "dp.histogram(['sex', 'age'], categories=[['f', 'm'], (20, 30)], epsilon=1)",
        "For tuples, each a combination, write dp.by(",
    ),
    (
        "dp.histogram(epsilon=1, delta=1e-6)(TABLE)",
        "dp.select('age') before the step or dp.histogram('age', ...)",
    ),
    ("(dp.select('sxe') >> mean)(TABLE)", f"select: {COLUMN}"),
    ("(dp.keep('sxe', among=['f']) >> LAPLACE)(TABLE)", f"keep: {COLUMN}"),
    ("dp.by('sxe', ['f'], LAPLACE)(TABLE)", f"by: {COLUMN}"),
    (
        "(dp.combinators.group_by('sxe', ['f'], dp.count()) >> dp.laplace(epsilon=1))(TABLE)",
        f"group_by: {COLUMN}",
    ),
    ("dp.histogram('sxe', categories=['f'], epsilon=1)(TABLE)", f"histogram: {COLUMN}"),
    (
        "(dp.table(person='sxe') >> dp.bound_contributions(1) >> LAPLACE)(TABLE)",
        f"bound_contributions: {COLUMN}",
    ),
    (
        "dp.session(TABLE)",
        "session: a budget is dp.epsilon(1), dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1)",
    ),
    ("LAPLACE(TABLE)", "dp.table() >> dp.count()"),
    (
        "dp.histogram('age', edges=[0, 50], epsilon=1)([1.0, 2.0])",
        "leave out dp.select('age') or the name in dp.histogram('age', ...), or give the table",
    ),
    ("LAPLACE({'age': [1.0, 2.0], 'visits': [3.0, 4.0]})", "start with dp.table() >>"),
    (
        "dp.sum().statement()",
        "statement is for a pipeline that ends in noise; put noise after dp.sum()",
    ),
    ("histogram.plot(title='x')", "ax = release.plot(), then ax.set_title('...')"),
    ("histogram.plot(kind='bar')", "it is called histogram_bars(histogram, joint=, unit=, ax=)"),
    ("dp.top_k(1, 'sex', categories=['f', 'm'], epsilon=1)(TABLE).plot()", "a Ranking has no pic"),
    ("histogram.table(margins=True)", "in place of margins= it takes total"),
    ("histogram.shares(by='sex')", "release.shares(): got an unexpected keyword argument 'by'"),
    ("histogram.marginal('sex')", "marginal: it needs declared categories of several columns"),
    ("histogram.reset_index()", "has no attribute 'reset_index'; type release.to_frame()"),
    ("groups.to_latex()", "type release.table(digits=2).to_frame()"),
    ("estimate.resid", "release.predict({...}) has the mean at one point"),
    ("estimate.dof", "its distribution is simulated, without degrees of freedom"),
    ("estimate.pvalue", "dp.t_test and dp.chi_square release a p-value"),
    ("session(LAPLACE, frame)", "the data, which the session has"),
    ("session(LAPLACE, LAPLACE)", "several pipelines go into dp.compose(...)"),
    ("dp.select('age').groupby('sex')", "use dp.by('sex', ['f', 'm'], pipeline)"),
    (
        "ages.median()",
        "use dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1), and of whole",
    ),
    ("dp.t_test('age', 'sex', ['f', 'm'], epsilon=1)", "; add bounds=(0, 100)"),
    (
        "dp.by('sex', 'age', [['f', 'm'], [1]], ages)",
        "several columns go into a list: dp.by(['sex'",
    ),
    (
        "dp.by('sex', ['f', 'm']) >> ages",
        "that ends in noise among its arguments: dp.by(..., pipel",
    ),
    (
        "dp.by(['sex', 'age'], [0, 1], LAPLACE)",
        "are all lists, or all tuples; got [0, 1]. Write a l",
    ),
    ("dp.by(['sex'], ['f', 'm'], LAPLACE)", "are all lists, or all tuples; got ['f', 'm']. Wri"),
    (
        "dp.linear_regression('y', ['C(x)'], {'y': (0, 1), 'x': (0, 1)}, epsilon=1)",
        "of a category make a column of 0 and 1 for each value but one",
    ),
    (
        "dp.histogram('d', categories=[1], epsilon=1)(pd.DataFrame({'d': [DAY]}))",
        "take dp.periods('month'",
    ),
    (
        "(dp.keep('d', between=(1, 2)) >> LAPLACE)({'d': [DAY.date()]})",
        "dp.keep takes dates too: between=('2024-01-01', '2024-12-31')",
    ),
    (
        "dp.compose(LAPLACE, dp.count() >> dp.gaussian(rho=1))",
        "dp.laplace(epsilon=1) >> dp.to_zcdp(), dp.count() >>",
    ),
]


@pytest.mark.parametrize(("code", "words"), MESSAGES, ids=[code for code, _ in MESSAGES])
def test_a_refusal_says_what_to_type_and_nothing_of_the_data(code, words):
    with pytest.raises((dp.OpenDPLiteError, TypeError, ValueError, AttributeError)) as caught:
        eval(code)
    text = str(caught.value)
    assert words in text
    assert not re.search(r"\b[23]0\.125|\b[23]0\b", text.replace("0.03", ""))


def test_a_file_that_is_not_there_is_a_refusal_and_what_python_raises():
    for code in ("dp.csv_column('nothere.csv')", "dp.parquet('nothere.parquet')"):
        with pytest.raises(FileNotFoundError) as missing:
            eval(code)
        assert isinstance(missing.value, dp.DataError)
        assert (missing.value.errno, missing.value.__cause__) == (errno.ENOENT, None)
        assert missing.value.filename in code
        again = pickle.loads(pickle.dumps(missing.value))
        assert (type(again), str(again)) == (type(missing.value), str(missing.value))


@pytest.mark.parametrize("release", [estimate, histogram, groups, cdf, shares], ids=type)
def test_what_is_told_runs(release):
    assert release.plot() is not None
    assert release is shares or len(release.to_frame()) == len(release.records())


def test_errors_print_as_those_of_one_module():
    with pytest.raises(dp.DataError) as refused:
        (dp.select("aeg") >> mean)(frame)
    assert type(refused.value).__module__ == "opendp_lite.base.errors"


def own(caught) -> list[str]:
    """The functions in a traceback, from this file's last one on."""
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    return names[len(names) - names[::-1].index("typed") - 1 :]


def test_a_traceback_shows_the_lines_of_the_person():
    """Those of this package that lie deeper are left out, and no other exception is told of."""

    def program(ask):
        def typed():
            return ask(dp.select("Age") >> dp.mean(0, 9, epsilon=1))

        return typed()

    ways = [
        lambda: (dp.select("Age") >> dp.mean(0, 9, epsilon=1))(TABLE),
        lambda: (dp.select("sex") >> dp.clamp(0, 9) >> dp.sum())(TABLE),
        lambda: dp.histogram("age", edges=10, epsilon=1),
        lambda: dp.table() >> dp.clamp(0, 9),
    ]
    for way in ways:

        def typed(way=way):
            return way()

        with pytest.raises(dp.OpenDPLiteError) as caught:
            typed()
        assert len(own(caught)) <= 4
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    with pytest.raises(dp.DataError) as caught:
        (dp.table() >> dp.adaptive(program, dp.epsilon(1)))(TABLE)
    assert own(caught) == ["typed"]
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names.count("program") == 1


def test_what_caused_a_refusal_of_your_own_is_kept():
    def program(ask) -> None:
        raise dp.DataError("mine") from KeyError("cause")

    with pytest.raises(dp.DataError, match="mine") as found:
        dp.adaptive(program, budget=dp.rho(1))([1.0])
    assert isinstance(found.value.__cause__, KeyError)


def test_a_step_of_your_own_shows_its_own_errors_within_a_step_of_ours_too():
    """The step around it was given nothing wrong."""

    @dp.stage
    def mistaken(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space]:
        return space + "a word"

    counted = mistaken() >> dp.count() >> dp.laplace(epsilon=1)
    for around in (counted, dp.compose(counted, counted), dp.sample(0.5, counted)):
        with pytest.raises(TypeError, match="unsupported operand"):
            dp.records() >> around


def test_a_column_that_is_not_there_is_told_in_another_process_too():
    with pytest.raises(dp.DataError) as missing:
        (dp.select("agee") >> dp.count())({"age": [1.0]})
    again = pickle.loads(pickle.dumps(missing.value))
    assert (str(again), again.column) == (str(missing.value), "agee")


def test_a_loss_that_protects_hardly_says_so():
    assert "that protects hardly at all" in " ".join(
        str(dp.mean(0, 9, epsilon=10).explain()).split()
    )
    assert "hardly" not in str(dp.mean(0, 9, epsilon=9.9).explain())
    assert "hardly" in str(dp.mean(0, 9, epsilon=1, delta=0.01).explain())
    for delta, weak in ((1e-6, False), (0.02, True)):
        stated = dp.histogram("city", epsilon=1, delta=delta).statement()
        assert ("A loss this large protects hardly at all." in str(stated)) == weak


def test_what_the_types_of_columns_refuse_costs_nothing():
    ask = dp.session(TABLE.assign(city="Rome", cars=1), dp.epsilon(1))
    bounds = {"age": (0, 9), "city": (0, 9), "agee": (0, 9)}
    for refused in (
        dp.select("city") >> dp.mean(0, 9, epsilon=0.1),
        dp.by("city", [1, 2], ages),
        dp.proportion("cars", among=["20"], epsilon=0.1),
        dp.linear_regression("age", ["city"], bounds, epsilon=0.1),
        dp.linear_regression("age", ["agee"], bounds, epsilon=0.1),
    ):
        with pytest.raises(dp.DataError, match="column"):
            ask(refused)
    assert ask.left == 1


@pytest.mark.parametrize("values", [[1, 2], ["x"], [None], [1, "x"]])
def test_the_values_of_a_column_refuse_nothing_before_it_is_paid(values):
    """An object column and the values that a categorical lists may be of any kind."""
    table = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": pd.Categorical(values)})
    for name in table:
        try_on_names((dp.select(name) >> dp.mean(0, 9, epsilon=1)).bind(dp.table()), table)
        try_on_names(dp.histogram(name, categories=[1], epsilon=1).bind(dp.table()), table)


def test_a_misspelt_column_in_a_session_is_refused_in_the_line_that_was_typed():
    with pytest.raises(dp.DataError, match="did you mean 'age'") as refused:
        session(dp.select("agee") >> mean)
    frames = traceback.extract_tb(refused.value.__traceback__)
    assert sum("opendp_lite/" in each.filename for each in frames) <= 1
