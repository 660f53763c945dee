"""What to type in place of names of pandas, numpy, statistics, OpenDP, diffprivlib and others.

A name stands here in small letters and without underscores, so that ``GroupBy``, ``groupby`` and
``group_by`` are one.
"""

from __future__ import annotations

from typing import Final

_USE: Final = {
    # Statistics
    "dp.mean(lower, upper, epsilon=1)": (
        "boundedmean average avg tools nanmean averagemechanism meanparams expectation"
    ),
    "dp.clamp(lower, upper) >> dp.sum() >> dp.laplace(epsilon=1)": (
        "boundedsum total nansum summechanism sumparams"
    ),
    "dp.count() >> dp.laplace(epsilon=1)": ("size len nrow nrows countmechanism countparams"),
    "dp.keep('x', between=(1, None)) >> dp.count() >> dp.laplace(epsilon=1)": (
        "countnonzero countif"
    ),
    "dp.proportion('sex', among=['f'], epsilon=1)": (
        "share percent percentage rate prevalence fraction prop props"
    ),
    "dp.difference(first, second), or first - second, of two releases": (
        "riskdifference gap contrast lift meandifference compare"
    ),
    "dp.ratio(first, second), or first / second, of two releases": (
        "oddsratio riskratio relativerisk"
    ),
    "dp.variance(lower, upper, epsilon=1)": "var pvariance nanvar variancemechanism varianceparams",
    "dp.variance(lower, upper, epsilon=1); for normal columns and PLAN "
    "dp.estimators.normal_variance(bound, rho=0.03)": "privatevariance",
    "dp.standard_deviation(lower, upper, epsilon=1)": "std stdev sd nanstd stdevmechanism",
    "dp.covariance(lower, upper, rho=0.03)": "cov covar sscp covmatrix",
    'dp.linear_regression("y", ["x"], {"y": (0, 100), "x": (0, 10)}, epsilon=1)': (
        "linearregression regression ols lm leastsquares linearmodel lstsq linregress linreg"
    ),
    "dp.covariance(lower, upper, rho=0.03, confidence=0.95), and its .principal_components()": (
        "pca principalcomponents svd"
    ),
    "dp.covariance(lower, upper, rho=0.03, confidence=0.95), and its .correlation()": (
        "corr corrcoef correlation pearsonr pearson correlationmatrix"
    ),
    "dp.private_quantile(0.5, bounds=(lower, upper), epsilon=1)": (
        "median quantile percentile nanmedian nanquantile quantilescorecandidates"
    ),
    "dp.private_quantile([0.25, 0.5, 0.75], bounds=(lower, upper), epsilon=1)": (
        "quantiles quartiles iqr describe summary boxplot quantilesfromcounts table1"
    ),
    "dp.private_quantile([0.1, 0.2, ...], bounds=(lower, upper), epsilon=1)": (
        "decile deciles tertiles qcut ntile"
    ),
    "dp.private_quantile(0.99, bounds=(lower, upper), epsilon=1)": "max maximum nanmax amax",
    "dp.private_quantile(0.01, bounds=(lower, upper), epsilon=1)": "min minimum nanmin amin",
    "dp.private_bounds(0.99, epsilon=1)": "approxbounds bounds getbounds findbounds minmax",
    "dp.cdf(lower, upper, epsilon=1)": (
        "ecdf cumsum cumulative survival density kde barytree consistentbarytree"
    ),
    "dp.weighted_mean(lower, upper, most=4, epsilon=1)": (
        "weightedmean weightedaverage weights weighted surveymean svymean"
    ),
    # Tables
    "dp.histogram('age', edges=range(0, 101, 10), epsilon=1)": (
        "hist cut histogram1d histplot binning binningspec bincolumn findbin distplot"
    ),
    "dp.histogram('city', categories=[...], epsilon=1), or delta= in their place": (
        "valuecounts countby countbycategories tabulate tab freq frequencies bincount barplot "
        "bar mode"
    ),
    "dp.top_k(3, 'city', epsilon=1, delta=1e-6)": "mostcommon nlargest noisytopk top",
    "dp.count_distinct('city') >> dp.laplace(epsilon=1)": (
        "nunique ndistinct countunique uniquecount approxcountdistinct cardinality "
        "countdistinctmechanism"
    ),
    "dp.t_test('x', 'sex', ['f', 'm'], bounds=(0, 9), epsilon=1)": (
        "ttestind ttest1samp welch mannwhitneyu pvalue proptest hypothesistest"
    ),
    "dp.anova('x', 'city', [...], bounds=(0, 9), epsilon=1)": "foneway oneway aov kruskal",
    "dp.chi_square(['sex', 'ill'], [['f', 'm'], ['yes', 'no']], epsilon=1)": (
        "chi2 chi2contingency chisq chisqtest fisherexact"
    ),
    "dp.period('day', 'week'), and dp.periods('week', '2024-01-01', '2024-12-31') for its keys": (
        "date dates datetime weeks months week month year quarter toperiod daterange periodrange"
    ),
    "dp.histogram('week', categories=[...], epsilon=1)(data).rolling(26)": "rolling movingaverage",
    "dp.histogram(['sex', 'city'], categories=[[...], [...]], epsilon=1)": (
        "crosstab contingencytable pivottable pivot histogram2d histogramdd twoway"
    ),
    "dp.histogram('city', epsilon=1, delta=1e-6): the values that are frequent enough": (
        "unique distinct levels keys getgroups selectpartitions laplacethreshold "
        "gaussianthreshold noisethreshold selectpartitionsparams partitionselectionstrategy "
        "calculateprivatepartitionsparams"
    ),
    "dp.by('sex', ['f', 'm'], pipeline): a release for each group": (
        "groupby agg aggregate aggregateparams keyset fromdict partitionandcreate "
        "publicpartitions subsetby apply bygroup strata over"
    ),
    "dp.compose(rows=pipeline, age=pipeline): several releases by name": (
        "report composition basiccomposition sequentialcomposition multi"
    ),
    "dp.keep('age', between=(18, 65)), or among=[...]": (
        "filter where query subset mask loc isin between filterrows"
    ),
    "dp.select('age')": "column columns col selectcolumn getcolumn iloc",
    "dp.impute(value), a value that you choose without looking at the data": (
        "fillna imputeconstant imputeuniformfloat replacenullandnan nantonum fillnan"
    ),
    "dp.drop_nan()": "dropna dropnull dropnullandnan isnull isna isnan isnotnull",
    "dp.clamp(lower, upper), or dp.clip_to_norm(radius)": (
        "clip winsorize trim replaceinfinity dropinfinity minvalue maxvalue"
    ),
    "dp.center(offset) >> dp.scale(factor)": (
        "multiply lipschitzfloatmul standardize zscore normalize"
    ),
    "a step of your own: dp.stage and dp.row_map": (
        "map rowbyrow flatmap vectorize usertransformation transform assign"
    ),
    # Data
    "dp.csv_column(path, column), or dp.csv_table(path, {column: str})": (
        "load read readcsv csv loadcsv splitdataframe createdataframe splitlines splitrecords"
    ),
    "dp.parquet('data/*.parquet', columns=['age'])": "readparquet scanparquet",
    "dp.table()": "dataframe lazyframe stablelazyframe privatelazyframe frame dataframedomain "
    "lazyframedomain seriesdomain dataextractors scancsv",
    "dp.table(person='id'): all rows of a person count as one": (
        "addrowswithid privacyidcolumn identifier unitof userlevel"
    ),
    "dp.bound_contributions(3), after dp.table(person='id')": (
        "maxrowsperid truncate maxgroupsperid maxrowspergroupperid enforce truncationstrategy "
        "maxpartitionscontributed maxcontributionsperpartition contributionbounds addmaxrows "
        "addmaxrowsinmaxgroups calculateprivatecontributionbounds preaggregateextractors "
        "privacyidcountparams"
    ),
    "dp.records()": "vectordomain atomdomain optiondomain spaceof domain arraydomain mapdomain "
    "categoricaldomain userdomain input",
    "dp.SymmetricDistance()": "insertdeletedistance addonerow addremove",
    "dp.ChangeOneDistance()": "hammingdistance replaceone substitution bounded",
    "dp.metrics": "partitiondistance discretedistance framedistance userdistance",
    "dp.measures": "userdivergence divergences",
    # Noise, losses and budgets
    "dp.laplace(epsilon=1)": (
        "laplace laplacemechanism baselaplace laplacenoise addlaplace vectorlaplace"
    ),
    "dp.gaussian(rho=0.03), or epsilon= with delta=": (
        "gaussian gaussianmechanism gaussiananalytic gaussiandiscrete gaussiannoise normal "
        "analyticgaussian addgaussian basegaussian"
    ),
    "dp.laplace(epsilon=1), or dp.gaussian(rho=0.03)": (
        "noise noisekind mechanismtype canonicalnoise addnoise mechanisms randomnoise"
    ),
    "dp.count() >> dp.laplace(epsilon=1): whole numbers stay whole": (
        "geometric discretelaplace basediscretelaplace"
    ),
    "dp.noisy_max(epsilon=1), or dp.measurements.exponential_mechanism(rho=0.03)": (
        "exponential exponentialcategorical exponentialhierarchical argmax idxmax"
    ),
    "dp.noisy_max(epsilon=1), or rho= for the exponential mechanism": "exponentialmechanism",
    "dp.noisy_max(epsilon=1)": (
        "permuteandflip reportnoisymax reportnoisymaxgumbel gumbelmax selection"
    ),
    "dp.combinators.best_of(...)": "selectprivatecandidate privatecandidate",
    "dp.above_threshold(program, threshold, epsilon=1)": "sparsevector svt sparsevectortechnique",
    "dp.sample(...): a secret sample of the rows": (
        "populationamplification poissonsampling subsample amplification bootstrap"
    ),
    "dp.epsilon(1)": "puredpbudget eps privacybudget puredp epsilonbudget",
    "dp.epsilon(1, delta=1e-6)": "approxdpbudget approxdp delta",
    "dp.rho(1)": "rhozcdpbudget zcdp rhobudget",
    "dp.mu(1)": "gdp gaussiandp mugdp",
    "dp.session(data, budget=dp.rho(1)): one budget over several releases": (
        "session accountant context budgetaccountant naivebudgetaccountant fromdataframe odometer "
        "adaptivecomposition privacyfilter sessionbuilder compositor budget makeprivate "
        "privatecollection privacyaccountant createview "
        "deleteview"
    ),
    "dp.Ledger.create(path, budget=dp.rho(1), unit='row'): one budget in a file": (
        "ledger save open"
    ),
    "dp.adaptive(program, dp.rho(1))": (
        "fullyadaptivecomposition alpqueryable queryable newqueryable program"
    ),
    "dp.compose(...), then .epsilon(delta=1e-6)": (
        "pldbudgetaccountant pld privacylossdistribution rdpaccountant prvaccountant"
    ),
    "pipeline >> dp.to_approximate(1e-6)": (
        "zcdptoapproxdp fixdelta approximate toapproxdp puredptofixedapproxdp"
    ),
    "pipeline >> dp.to_zcdp()": "puredptozcdp",
    "dp.MaxDivergence()": "maxdivergence",
    "dp.ApproximateDivergence()": (
        "smoothedmaxdivergence fixedsmoothedmaxdivergence hockeystickdivergence"
    ),
    "epsilon= or rho= in the step itself, or dp.calibrate": (
        "binarysearch binarysearchparam binarysearchchain findscale solve"
    ),
    "pipeline.map(1)": "lossof privacyloss privacymap cost",
    "pipeline.check(1, 1.0)": "check assertprivate verify",
    "pipeline.accuracy(0.95), or dp.expected_error(mean, n=1000, guess=40)": (
        "accuracy error rmse explaincomputationreport laplacianscaletoaccuracy mse utility "
        "samplesize power"
    ),
    "confidence=0.95 in the step, and release.interval": (
        "ci confint confidenceinterval interval marginoferror moe sem standarderror se"
    ),
    "release.table(suppress=10, round=5)": "suppress",
    "dp.BudgetExceeded": "budgeterror",
    "release.to_frame(), or release.as_dict()": "tojson tocsv toframe todict write export",
    "print(pipeline.explain()), and pipeline.statement()": "explain info document audittrail",
    "release.plot(), or dp.plotting, as in dp.plotting.privacy_curves({'count': pipeline})": (
        "plot show draw figure chart graph plt heatmap scatter"
    ),
    "(dp.clamp(lower, upper) >> dp.sum()).map(1)": "sensitivity globalsensitivity",
    "dp.measurements.sum_and_count(epsilon=1)": "core",
    "the pipeline itself: pipeline(data)": (
        "run evaluate release collect invoke execute localbackend dpengine engine"
    ),
    "ask.left, of dp.session(...)": "remainingprivacybudget remainingbudget left remaining",
    "dp.assert_lawful, dp.assert_stable and dp.audit": "test fuzz",
    ">> between steps, as in dp.select('age') >> dp.mean(lower, upper, epsilon=1)": (
        "querybuilder privateexpr stableexpr"
    ),
    ">> between steps": "chaintt chainmt chainpm pipe then",
    "a dask collection or a Spark frame as the data": (
        "beambackend sparkrddbackend multiproclocalbackend sparkbackend"
    ),
    "nothing in its place, since each public step has its proof": (
        "enablefeatures contrib honestbutcurious disablefeatures"
    ),
    "nothing in its place: numbers are read as they are, and domains are derived": (
        "cast castdefault castinherent dfcastdefault identity index find isequal dfisequal "
        "unordered orderedrandom metricbounded metricunbounded columntype columndescriptor rename "
        "enumdomain bitvectordomain wildexprdomain datetimedomain margin withmargin float int"
    ),
    "dp.postprocessor": "newfunction postprocess postprocessing",
    "dp.mechanism": "usermeasurement",
}

_NOT_HERE: Final = {
    "dp.covariance(lower, upper, rho=0.03), which releases what a linear model needs": (
        "gaussiannb logisticregression kmeans standardscaler models fit "
        "randomforestclassifier decisiontreeclassifier predict scatterplot glm "
        "sgd classifier cluster logit svm naivebayes logistic"
    ),
    "dp.laplace(epsilon=1), whose release you may clip afterwards": (
        "snapping staircase bingham uniform binary laplacetruncated laplacefolded tulap vector "
        "laplaceboundeddomain laplaceboundednoise geometrictruncated geometricfolded"
    ),
    "noise on the sum of all answers, dp.laplace(epsilon=1): somebody holds the data": (
        "randomizedresponse randomizedresponsebool randomizedresponsebitvec local localdp rappor"
    ),
    "dp.table(person='id') on a table that you joined before, by pandas.merge, say": (
        "join joinprivate joinpublic merge concat union"
    ),
    "dp.cdf(lower, upper, epsilon=1), from which you compute it": (
        "sumofsquareddeviations skew skewness kurtosis moment moments entropy gini "
        "geometricmean harmonicmean mad"
    ),
    "dp.covariance(lower, upper, rho=0.03) of ranks that you made before": (
        "spearman spearmanr kendalltau rank wilcoxon"
    ),
    "dp.period('day', 'week') >> dp.histogram('day', categories=dp.periods('week', '2024-01-01', "
    "'2024-12-31'), epsilon=1), to whose counts you apply it": (
        "resample timeseries lag diff shift"
    ),
}

OTHER_NAMES: Final = {
    **{name: f"use {typed}" for typed, names in _USE.items() for name in names.split()},
    **{
        name: f"that is not here, and nearest to it is {typed}"
        for typed, names in _NOT_HERE.items()
        for name in names.split()
    },
}
"""What is said of each name."""
