"""Answers that students give, right and wrong, with a piece of what is told to each wrong one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs


@attrs.frozen
class Answers:
    """Of one exercise.

    Attributes:
        wrong: Code of wrong answers, with words of the hint that each gets. "wrong" stands for any.
        right: Code of answers that are right beside the solution.
    """

    wrong: Mapping[str, str]
    right: Sequence[str]


OPEN: Final = "ask = dp.session(visits, budget=dp.epsilon(1))"
WIDE: Final = "dp.expected_error(dp.mean(0, {}, epsilon={}, confidence=None), n=20_000, guess=10)"
LEDGER: Final = """ledger = dp.Ledger.create(
    Path(tempfile.mkdtemp()) / "again.ledger", budget=dp.epsilon(0.05), unit="row", data="RAND HIE"
)
ask = ledger.session(survey)"""
QUANTILE: Final = "visits >> dp.private_quantile({}, bounds=(0, 100), epsilon={}, confidence=None)"
LIES: Final = {
    "a quarter of the noise": True,
    "noise from a known seed": False,
    "the exact value, in one of 10 releases": True,
    "the exact value, in one of 10^12 releases": False,
    "the release takes longer if Ann is in the data": False,
}
THRESHOLD: Final = """limit_of_99 = dp.above_threshold(
    find_limit, threshold={}, epsilon={}, monotone=True
)"""
RATIO: Final = "by_coins.standard_error / by_collector.standard_error"
ANSWERS: Final[Mapping[tuple[str, int], Answers]] = {
    ("9_the_coin_flip_survey", 1): Answers(
        {
            "epsilon_of_coins = 3": "logarithm",
            "epsilon_of_coins = 0.75": "how probable a true answer",
            "epsilon_of_coins = np.log(2)": "second one",
            "epsilon_of_coins = np.log(0.75 / 0.5)": "both truths",
            "epsilon_of_coins = np.log(4)": "a factor of 3",
        },
        ["epsilon_of_coins = np.log(3)", "epsilon_of_coins = 1.1"],
    ),
    ("9_the_coin_flip_survey", 2): Answers(
        {
            "share = 150 / 400": "a quarter of the others",
            "share = 150 / 400 - 0.25": "half of p",
            "share = 150 / 400 / 0.75": "take off 1/4",
            "share = 100": "share, not a number",
            "share = 150 / 400 / 2": "half of the answers",
        },
        ["share = 0.25", "share = 2 * 150 / 400 - 0.5"],
    ),
    ("9_the_coin_flip_survey", 3): Answers(
        {
            "people_needed = 1.96**2 * 0.75 * 0.25 / 0.01**2": "divides it",
            "people_needed = 4 * 0.75 * 0.25 / 0.01**2": "1.96 of them",
            "people_needed = (1.96 * 2) ** 2 * 0.75 * 0.25 / 0.005**2": "either side",
            "people_needed = (1.96 * 2) ** 2 * 0.25 / 0.01**2": "3/4 times 1/4",
            "people_needed = 1.96 * 2 * (0.75 * 0.25) ** 0.5 / 0.01": "root of the number",
        },
        ["people_needed = 29_000", "people_needed = 28_812"],
    ),
    ("9_the_coin_flip_survey", 4): Answers(
        {
            f"people_for_coins = people * {RATIO}": "four times do",
            f"people_for_coins = ({RATIO}) ** 2": "multiply",
            f"people_for_coins = people / ({RATIO}) ** 2": "more people",
            f"people_for_coins = people * ({RATIO}) ** 0.5": "square",
            f"people_for_coins = {RATIO}": "how many times as large",
        },
        ["people_for_coins = (0.75 * 0.25) / (0.5 * by_collector.standard_error) ** 2"],
    ),
    ("9_the_coin_flip_survey", 5): Answers(
        {
            "truth = 1 / (1 + np.exp(0.5))": "other answer",
            "truth = np.exp(-0.5)": "that is q",
            "truth = 1 / 1.5": "not 0.5",
            "truth = 0.75": "ln 3",
            "truth = np.exp(0.5)": "ratio of both",
        },
        ["truth = 0.62", "truth = np.exp(0.5) / (1 + np.exp(0.5))"],
    ),
    ("9_the_coin_flip_survey", 6): Answers(
        {
            "factor = 5 * 3": "multiplied",
            "factor = 3": "one answer",
            "factor = 5 * np.log(3)": "sum of the losses",
            "factor = 0.75**5": "both truths",
            "factor = 5**3": "not 5 to the power",
        },
        ["factor = np.exp(survey.map(5))"],
    ),
    ("10_reconstruction", 1): Answers(
        {
            "villages = 10": "multiplied",
            "villages = 20": "not added",
            "villages = 100": "10 to the power of 2",
            "villages = 210": "published that 4",
            "villages = 2**9": "last one too",
        },
        ["villages = 1024.0"],
    ),
    ("10_reconstruction", 2): Answers(
        {
            "ill_people = ['Cleo', 'Dan', 'Eva']": "counted 4",
            "ill_people = ['Ann', 'Ben', 'Finn', 'Hugo', 'Ida', 'Jan']": "well",
            "ill_people = ['Cleo', 'Dan', 'Eva', 'Hugo']": "Hugo is well",
            "ill_people = possible[0]": "give names",
            "ill_people = 'Cleo, Dan, Eva, Finn'": "list of names",
        },
        ["ill_people = {name for name, is_ill in zip(names, possible[0]) if is_ill}"],
    ),
    ("10_reconstruction", 3): Answers(
        {
            "share_recovered = recovered(exact)": "round it first",
            "share_recovered = recovered(np.round(exact, -1))": "multiples of 10",
            "share_recovered = recovered(exact // 5 * 5)": "rounds down",
            "share_recovered = 100 * recovered(np.round(exact / 5) * 5)": "percentage",
            "share_recovered = 1 - recovered(np.round(exact / 5) * 5)": "who are missed",
        },
        ["share_recovered = round(recovered(5 * np.rint(exact / 5)), 3)"],
    ),
    ("10_reconstruction", 4): Answers(
        {
            "loss_of_table = 1": "add up",
            "loss_of_table = 120": "number of people",
            "loss_of_table = 240**0.5": "Gaussian",
            "loss_of_table = 1 / 240": "multiply",
            "loss_of_table = 60": "about 60 people",
        },
        ["loss_of_table = 240"],
    ),
    ("10_reconstruction", 5): Answers(
        {
            "right_at_most = 0.5": "before",
            "right_at_most = np.e": "odds",
            "right_at_most = 1 - np.exp(-1)": "e / (1 + e)",
            "right_at_most = 1": "doubt",
            "right_at_most = np.e / 2": "not probabilities",
        },
        ["right_at_most = private.odds() / (1 + private.odds())", "right_at_most = 0.73"],
    ),
    ("10_reconstruction", 6): Answers(
        {
            "off = np.log(20)": "units of the scale",
            "off = 240": "that is the scale",
            "off = 240 * np.log(40)": "either side",
            "off = 240 * 2**0.5": "standard deviation",
            "off = -240 * np.log(0.95)": "not 0.95",
        },
        ["off = 240 * np.log(20)", "off = 720"],
    ),
    ("1_your_first_private_mean", 1): Answers(
        {
            "moved = 40": "clipped to 100 now",
            "moved = 1": "number of rows",
            "moved = 200": "added or removed, not replaced",
            "moved = 20_190 * 100": "one row",
            "moved = 60": "more than with 40",
        },
        ["moved = (dp.clamp(0, 100) >> dp.sum()).map(1)", "moved = 100.0"],
    ),
    ("1_your_first_private_mean", 2): Answers(
        {
            "error = 40 * np.log(20)": "95 %",
            "error = 40": "scale",
            "error = 40 * np.log(200)": "on either side",
            "error = np.log(100)": "40 visits",
            "error = -40 * np.log(0.99)": "not 0.99",
        },
        ["error = noisy.accuracy(0.99)", "error = 184", "error = 180"],
    ),
    ("1_your_first_private_mean", 3): Answers(
        {
            "clipping_error = visits.mean() - visits[visits <= 40].mean()": "drops",
            "clipping_error = visits.sum() - np.clip(visits, 0, 40).sum()": "sums",
            "clipping_error = np.clip(visits, 0, 40).mean()": "subtract",
            "clipping_error = visits.mean()": "subtract",
            "clipping_error = 1 - np.clip(visits, 0, 40).mean() / visits.mean()": "a share",
        },
        [
            "clipping_error = round(visits.mean() - np.clip(visits, 0, 40).mean(), 4)",
            "clipping_error = np.clip(visits, 0, 40).mean() - visits.mean()",
        ],
    ),
    ("1_your_first_private_mean", 4): Answers(
        {
            "epsilon_allowed = np.log(1.2)": "odds",
            "epsilon_allowed = 1.5": "factor",
            "epsilon_allowed = 0.41": "more than the board allows",
            "epsilon_allowed = 0.2": "a larger epsilon",
            "epsilon_allowed = 0.6": "50 % become 64.57%",
        },
        ["epsilon_allowed = np.log(1.5)"],
    ),
    ("1_your_first_private_mean", 5): Answers(
        {
            "count = len(visits)": "no release",
            f"{OPEN}\ncount = ask(dp.count() >> dp.laplace(epsilon=0.25))": "3/4 is left",
            f"{OPEN}\ncount = ask(dp.mean(0, 40, epsilon=1, confidence=None))": "no count of rows",
            f"{OPEN}\ncount = dp.count() >> dp.laplace(epsilon=ask.left)": "no release of the",
            f"{OPEN}\ncount = ask(dp.count())": "stopped with an error",
        },
        [f"{OPEN}\ncount = ask(dp.count() >> dp.laplace(epsilon=1))"],
    ),
    ("1_your_first_private_mean", 6): Answers(
        {
            "rho_for_one = 0.03": "a smaller rho",
            "rho_for_one = 0.02": "a larger rho",
            "rho_for_one = 0.5": "never fails",
            "rho_for_one = 1": "epsilon itself",
            "rho_for_one = 0.017": "epsilon = 0.76",
        },
        ["rho_for_one = 0.0280"],
    ),
    ("1_your_first_private_mean", 7): Answers(
        {
            "epsilon_for_a_row = 1": "five rows lose five times",
            "epsilon_for_a_row = 5": "divide",
            "epsilon_for_a_row = 0.04": "squared",
            "epsilon_for_a_row = 1 / 5**0.5": "that is the root",
            "epsilon_for_a_row = 0.25": "five times that for one",
        },
        ["epsilon_for_a_row = 1 / 5"],
    ),
    ("2_why_a_pipeline_can_be_trusted", 1): Answers(
        {
            "moved = 120": "without scale",
            "moved = 20": "one row",
            "moved = 30": "number of rows",
            "moved = 240": "multiplies",
            "moved = dp.clamp(0, 40).map(3)": "three rows stay three rows",
        },
        ["moved = (dp.clamp(0, 40) >> dp.scale(0.5) >> dp.sum()).map(3)", "moved = 3 * 20.0"],
    ),
    ("2_why_a_pipeline_can_be_trusted", 2): Answers(
        {
            "rho_one, rho_three = 0.5, 4.5": "not by 40",
            "rho_one, rho_three = 0.5, 1.5": "Laplace",
            "rho_one, rho_three = 0.125, 0.375": "takes its square",
            "rho_one, rho_three = 0.25, 2.25": "factor of 2",
            "rho_one, rho_three = 5, 45": "standard deviation is squared",
            "rho_one, rho_three = 1.125, 0.125": "exercise 1",
        },
        [
            "rho_one, rho_three = 0.13, 1.1",
            "rho_one, rho_three = map((dp.clamp(0, 40) >> dp.scale(0.5) >> dp.sum() >> "
            "dp.gaussian(scale=40)).map, (1, 3))",
        ],
    ),
    ("2_why_a_pipeline_can_be_trusted", 3): Answers(
        {
            "share = lambda rows: rows / rows.max()": "other rows of its block",
            "share = lambda rows: rows / rows.shape[0] / 20": "other rows of its block",
            "share = lambda rows: rows / visits.max()": "must not look",
            "share = lambda rows: rows / 20": "promises 1 at most",
            "share = lambda rows: rows * 40": "divide",
            "share = lambda rows: 0.5": "shape ()",
            "share = lambda rows: rows[:, 0] / 40": "shape (2,)",
            "share = 1 / 40": "function of a block",
        },
        ["def share(rows):\n    return rows * 0.025", "share = lambda block: np.divide(block, 40)"],
    ),
    ("2_why_a_pipeline_can_be_trusted", 4): Answers(
        {
            "data, neighbour = [3.0], [3.0, 40.0]": "below 500",
            "data, neighbour = [3.0], [3.0, 500.0]": "clipped to 40",
            "data, neighbour = [40.0] * 13, [40.0] * 13 + [0.0]": "by nothing",
            "data, neighbour = [40.0] * 13, [40.0] * 13 + [0.1]": "moves them more",
            "data, neighbour = [40.0] * 12, [40.0] * 14": "differ by one row",
            "data, neighbour = [40.0] * 12, [30.0] + [40.0] * 12": "all rows before it",
            "data, neighbour = 480, 520": "not their sums",
        },
        [
            "data, neighbour = [40.0] * 21, [40.0] * 20",
            "data, neighbour = np.full(12, 41.0), np.full(13, 41.0)",
        ],
    ),
    ("2_why_a_pipeline_can_be_trusted", 5): Answers(
        {
            "exact_count = released": "with its noise",
            "exact_count = released + noise_of(turn)": "take it away",
            "exact_count = noise_of(turn)": "what is left",
            "exact_count = released - noise_of(0)": "release 0",
            "exact_count = released - noise_of(turn + 1)": "noise_of(turn) is what",
        },
        ["exact_count = int(released) - noise_of(134)"],
    ),
    ("2_why_a_pipeline_can_be_trusted", 6): Answers(
        {
            "mended = lambda ask: ask(dp.clamp(0, max(made_up)) >> dp.sum() >> "
            "dp.gaussian(rho=0.1))": "still the largest value",
            "bound = float(max(made_up))\nmended = lambda ask: ask(dp.clamp(0, bound) >> dp.sum() "
            ">> dp.gaussian(rho=0.1))": "still the largest value",
            "mended = dp.clamp(0, 40) >> dp.sum() >> dp.gaussian(rho=0.1)": "that is a pipeline",
            "mended = lambda ask: dp.clamp(0, 40) >> dp.sum() >> dp.gaussian(rho=0.1)": "must call",
            "mended = lambda ask: ask(dp.clamp(0, 40) >> dp.sum() >> dp.gaussian(rho=1))": "spent",
            "mended = lambda ask: ask(dp.count() >> dp.gaussian(rho=0.1))": "for a sum",
            "def mended(ask):\n    ask(dp.clamp(0, 40) >> dp.sum() >> dp.gaussian(rho=0.1))": (
                "return what ask gives"
            ),
        },
        [
            "mended = lambda ask: ask(dp.clamp(0, 60) >> dp.sum() >> dp.gaussian(rho=0.1))",
            "def mended(ask):\n"
            "    top = ask(dp.private_quantile(0.9, bounds=(0, 100), rho=0.05, confidence=None))\n"
            "    return ask(dp.clamp(0, float(top)) >> dp.sum() >> dp.gaussian(rho=0.05))",
        ],
    ),
    ("2_why_a_pipeline_can_be_trusted", 7): Answers(
        {
            f"found_by_audit = {dict(LIES, **{lie: not LIES[lie]})}": hint
            for lie, hint in zip(
                LIES,
                ("half the noise", "predictable", "honest noise", "a year", "a clock"),
                strict=True,
            )
        }
        | {"found_by_audit = [True, False, True, False, False]": "replace the dots"},
        [f"found_by_audit = {dict(reversed(LIES.items()))}"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 1): Answers(
        {
            "moved = (100, 100 / np.sqrt(2))": "in the middle",
            "moved = (100, 100 * np.sqrt(2))": "not on the simplex",
            "moved = (200, 200)": "not replaced",
            "moved = (200, 100 * np.sqrt(2))": "or a row replaced",
            "moved = (50, 50)": "at which x",
        },
        ["moved = (pairs >> dp.sum()).map(1)", "moved = [100.0, 100.0]"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 2): Answers(
        {
            "rows_and_mean = (100, 51)": "noisy too",
            "rows_and_mean = (100.5, 51)": "that the release tells",
            "rows_and_mean = (10_050, 100 * 5100 / 10_050)": "divide by 100",
            "rows_and_mean = (100.5, 100 * 4950 / 10_050)": "upper bound",
            "rows_and_mean = (100.5, 100 * 5100 / 4950)": "both together",
        },
        ["rows_and_mean = (100.5, 50.7)", "rows_and_mean = np.array([100.5, 50.746])"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 3): Answers(
        {
            "share = 0.2": "gave the sum",
            "share = 0.8": "gave the count",
            "share = 1": "infinite",
            "share = 2": "all of rho",
            "share = np.sqrt(0.5)": "not its square",
        },
        ["share = 1 / 2"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 4): Answers(
        {
            "best_share = 100 / 125": "half the width",
            "best_share = 50 / 125": "from the middle",
            "best_share = 1 / 3": "of the count",
            "best_share = 0.5": "ends of the bounds",
            "best_share = 100 / 175": "half the width, and D",
        },
        ["best_share = 0.67", "best_share = 2 / 3"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 5): Answers(
        {
            "true_rho = 0.5": "the claim",
            "true_rho = np.sqrt(2)": "its square",
            "true_rho = 2": "twice too much",
            "true_rho = 0.25": "above 1",
            "true_rho = 100 * np.sqrt(2)": "square it",
        },
        ["true_rho = (public >> pairs >> dp.sum() >> dp.gaussian(scale=100)).map(1)"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 6): Answers(
        {
            "factor = 1": "without the slack",
            "factor = np.sqrt(2)": "give its square",
            "factor = 0": "negative entry",
            "factor = 3": "add the square",
            "factor = 1.25": "all four",
        },
        ["factor = 4 * 0.5**2 + (1 - 4 * 0.5) ** 2"],
    ),
    ("3_the_curious_incident_of_the_free_lunch", 7): Answers(
        {
            "recentred_error = 0.52": "typed or foretold",
            "recentred_error = dp.expected_error(dp.estimators.recentred_mean(0, 100, rho=rho), "
            "n=100, guess=50)": "typed or foretold",
            "recentred_error = rho": "this is rho",
            "recentred_error = error(estimators['simplex'])": "simplex",
            "recentred_error = error(estimators['centered'])": "centered",
            "recentred_error = error(dp.estimators.recentred_mean(0, 100, rho=1))": "larger rho",
            "recentred_error = np.mean([dp.estimators.recentred_mean(0, 100, rho=rho)(column)])": (
                "that is a release"
            ),
        },
        [
            "recentred_error = round(error(dp.estimators.recentred_mean(0, 100, rho=0.5)), 2)",
            "recentred_error = error(dp.estimators.recentred_mean(0, 100, rho=rho), times=2000)",
        ],
    ),
    ("4_plan", 1): Answers(
        {
            "times = sigma.sum() / np.sqrt(d * np.sum(sigma**2))": "with scaling",
            "times = d * np.sum(sigma**2) / sigma.sum() ** 2": "ratio of the squares",
            "times = np.sqrt(np.sum(sigma**2)) / sigma.sum()": "is missing",
            "times = np.sqrt(d * np.sum(sigma**2))": "divide it",
            "times = np.sqrt(d * sigma.sum()) / sigma.sum()": "squares of sigma",
        },
        ["times = 1.49", "times = np.sqrt(d) * np.linalg.norm(sigma) / np.sum(sigma)"],
    ),
    ("4_plan", 2): Answers(
        {
            "divisors = np.sqrt(sigma)": "p = 2, the root",
            "divisors = sigma ** (1 / 3)": "for p = 1; the power",
            "divisors = sigma": "equally wide",
            "divisors = sigma ** (-2 / 3)": "multiplied by",
            "divisors = 2 / 3": "an array",
        },
        ["divisors = np.round(sigma ** (2 / 3), 2)", "divisors = list(np.cbrt(sigma) ** 2)"],
    ),
    ("4_plan", 3): Answers(
        {
            "scaling = sigma ** (2 / 3)\n"
            "planned = space >> dp.adaptive(program(scaling), dp.rho(rho))": "power for p = 1",
            "scaling = 1 / np.sqrt(sigma)\n"
            "planned = space >> dp.adaptive(program(scaling), dp.rho(rho))": "multiplied by",
            "scaling = np.sqrt(sigma)\nplanned = unscaled": "as without scaling",
            "scaling = np.sqrt(sigma)\n"
            "planned = space >> dp.adaptive(program(scaling), dp.rho(1))": "this loses 1",
            "scaling = np.sqrt(sigma)\nplanned = program(scaling)": "begins with space",
            "scaling = np.sqrt(sigma)\n"
            "planned = dp.records(columns=d) >> dp.adaptive(program(scaling), dp.rho(rho))": (
                "is replaced"
            ),
            "scaling = np.sqrt(sigma)\n"
            "planned = (space >> dp.adaptive(program(scaling), dp.rho(rho)))(rows)": "a release",
        },
        [
            "scaling = sigma**0.5\n"
            "planned = space >> dp.adaptive(program(np.sqrt(sigma)), dp.rho(0.5))"
        ],
    ),
    ("4_plan", 4): Answers(
        {
            "plus = published_plan": "no plan_plus_mean",
            "plus = space >> dp.estimators.plan_plus_mean(100, rho=1)": "this loses 1",
            "plus = space >> dp.estimators.plan_plus_mean(10, rho=rho)": "not 100",
            "plus = dp.estimators.plan_plus_mean(100, rho=rho)": "begins with space",
            "plus = (space >> dp.estimators.plan_plus_mean(100, rho=rho))(rows)": "a release",
        },
        [
            "plus = (\n    dp.records(columns=16, size=4000, metric=dp.ChangeOneDistance())\n"
            "    >> dp.estimators.plan_plus_mean(100, rho=0.5)\n)"
        ],
    ),
    ("4_plan", 5): Answers(
        {
            "overrun = 4": "half move alone",
            "overrun = 9": "three copies alone",
            "overrun = 3": "then the move is halved",
            "overrun = 36": "divide by 3",
            "overrun = 6": "more than double",
        },
        ["overrun = 4 * 9 / 3"],
    ),
    ("4_plan", 6): Answers(
        {
            "repair = (3, 0.5)": "published code",
            "repair = (1, 0.5)": "not by 0.5",
            "repair = (3, 1)": "copies at once",
            "repair = (3, 3)": "fewer copies",
            "repair = (1, 2)": "one copy?",
        },
        ["repair = [1, 1.02]", "repair = (4, 2)"],
    ),
    ("5_pure_or_approximate", 1): Answers(
        {
            "moved = (16, 2)": "l2 length of 4",
            "moved = (4, 1)": "row added",
            "moved = (2, 2)": "adds up",
            "moved = (8, 8)": "clipped in l2",
            "moved = (2, 8)": "l1 first",
        },
        ["moved = total(16).map(1)", "moved = [2 * np.sqrt(16), 2.0]"],
    ),
    ("5_pure_or_approximate", 2): Answers(
        {
            "columns = 9": "against Laplace",
            "columns = 16": "try one more",
            "columns = 18": "one column less",
            "columns = 40": "d = 1, 2",
            "columns = 16.85": "give the first",
        },
        [
            "columns = min(d for d in range(1, 200) "
            "if formulas['Gaussian'](d) < formulas['K-norm'](d))"
        ],
    ),
    ("5_pure_or_approximate", 3): Answers(
        {
            "exposed = 20_190 * 1e-4": "on average",
            "exposed = (1 - 1e-4) ** 20_190": "publishes none",
            "exposed = 1e-4": "one given row",
            "exposed = 1": "near 1",
            "exposed = 0.5": "stays hidden",
        },
        ["exposed = 0.87", "exposed = 1 - np.exp(20_190 * np.log1p(-1e-4))"],
    ),
    ("5_pure_or_approximate", 4): Answers(
        {
            "factor = gaussian.odds(0.01)": "what odds promises",
            "factor = mu * 2.326 + mu**2 / 2": "logarithm",
            "factor = np.exp(mu * 2.576 + mu**2 / 2)": "one side",
            "factor = np.exp(mu * 2.326)": "is missing",
            "factor = np.exp(1)": "e^epsilon",
            "factor = 2.33": "that is z",
        },
        ["factor = 1.78", "factor = float(np.exp(mu * 2.326 + mu**2 / 2))"],
    ),
    ("5_pure_or_approximate", 5): Answers(
        {
            "misses = (gaussian.tradeoff(0.05), pure.tradeoff(0.05))": "pure first",
            "misses = (1 - pure.tradeoff(0.05), 1 - gaussian.tradeoff(0.05))": "finds",
            "misses = (pure.tradeoff(0.95), gaussian.tradeoff(0.95))": "false alarms",
            "misses = (0.95, 0.95)": "without any release",
            "misses = (1 - 0.05 * np.e, 1 - 0.05 * np.e)": "knows more of each",
        },
        ["misses = (0.91, 0.92)", "misses = [each.tradeoff(0.05) for each in (pure, gaussian)]"],
    ),
    ("5_pure_or_approximate", 6): Answers(
        {
            "factors = (1 / np.sqrt(np.log(1e6)), 1 / np.sqrt(np.log(1e100)))": "2 d / (n",
            "factors = (2 / np.log(1e6), 2 / np.log(1e100))": "the root",
            "factors = (2 / np.sqrt(6), 2 / np.sqrt(100))": "natural",
            "factors = (np.sqrt(8 / np.log(1e6)), np.sqrt(8 / np.log(1e100)))": "mean square",
            "factors = (0.13, 0.54)": "1e-6 first",
        },
        [
            "factors = (0.54, 0.13)",
            "factors = [2 / np.sqrt(np.log(1 / x)) for x in (1e-6, 1e-100)]",
        ],
    ),
    ("6_floating_point_breaks_privacy", 1): Answers(
        {
            "ruled_out = possible(from_one, 0).mean()": "0 is possible",
            "ruled_out = ~possible(from_one, 0)": "for each release",
            "ruled_out = (~possible(from_one, 0)).sum()": "how many releases",
            "ruled_out = 1 - possible(from_one, 1).mean()": "for the count 0",
            "ruled_out = 100 * (1 - possible(from_one, 0).mean())": "percent",
        },
        [
            "ruled_out = (~possible(from_one, 0)).mean()",
            "ruled_out = round(1 - possible(from_one, 0).mean(), 2)",
        ],
    ),
    ("6_floating_point_breaks_privacy", 2): Answers(
        {
            "true_epsilon = 1": "the claim",
            "true_epsilon = 0": "small epsilon",
            "true_epsilon = np.log(0.6)": "never below 0",
            "true_epsilon = 1e9": "0 still",
            "true_epsilon = np.log(0.6 * 10_000)": "is 0 still",
        },
        ["true_epsilon = float('inf')"],
    ),
    ("6_floating_point_breaks_privacy", 3): Answers(
        {
            "m = 53": "bits has a float",
            "m = -16": "positive",
            "m = 2**16": "not 2^m",
            "m = 15": "larger m",
            "m = 17": "smaller m",
            "m = 2.0**-16": "m is whole",
        },
        ["m = 16.0"],
    ),
    ("6_floating_point_breaks_privacy", 4): Answers(
        {
            "small = 5000": "by 1/2",
            "small = 10_000": "Ann's own row",
            "small = 9997": "one small row",
            "small = 5000 / 0.3": "whole number",
            "small = 12_000": "fewer are enough",
        },
        ["small = 9998"],
    ),
    ("6_floating_point_breaks_privacy", 5): Answers(
        {
            "guess = lambda release: True": "True of every",
            "guess = lambda release: release > 2**24": "False of every",
            "guess = lambda release: release < 2**23 - 500": "turn it round",
            "guess = lambda release: release > 2**23 + 1": "1001 apart",
            "guess = True": "function of a release",
        },
        ["guess = lambda release: abs(release - 2**23) < 300"],
    ),
    ("6_floating_point_breaks_privacy", 6): Answers(
        {
            "full = 128": "has been",
            "full = 255": "is the jump",
            "full = 256": "negative",
            "full = 126": "are [126, 127]",
            "full = 383": "below 256",
        },
        ["full = np.iinfo(np.int8).max"],
    ),
    ("7_a_survey_from_start_to_end", 1): Answers(
        {
            "epsilon_person = 1": "for one row",
            "epsilon_person = 0.2": "other way round",
            "epsilon_person = 25": "rho grows",
            "epsilon_person = 5**0.5": "its root",
            "epsilon_person = np.exp(5)": "factor of the odds",
        },
        ["epsilon_person = dp.mean(0, 40, epsilon=1, confidence=None).map(5)"],
    ),
    ("7_a_survey_from_start_to_end", 2): Answers(
        {
            "rows_needed = 30": "error itself",
            "rows_needed = 3": "tenth of the count",
            "rows_needed = 100": "scale of the noise",
            "rows_needed = 460": "99 %",
            "rows_needed = 600": "either side",
        },
        [
            "rows_needed = "
            "10 * dp.histogram('health', categories=HEALTH, epsilon=0.1).accuracy(0.95)"
        ],
    ),
    ("7_a_survey_from_start_to_end", 3): Answers(
        {
            "total_raw, total_clipped = cells.counts.clip(0).sum(), cells.counts.sum()": "first",
            "total_raw, total_clipped = cells.counts.sum(), cells.counts.sum()": "second time",
            "total_raw, total_clipped = cells.counts.sum(), abs(cells.counts).sum()": "positive",
            "total_raw, total_clipped = cells.counts.sum(), (cells.counts > 0).sum()": (
                "counts the cells"
            ),
            "total_raw, total_clipped = cells.counts.sum(), cells.counts.clip(1).sum()": "to 1",
        },
        [
            "total_raw = sum(cells.counts.ravel().tolist())\n"
            "total_clipped = cells.counts[cells.counts > 0].sum()"
        ],
    ),
    ("7_a_survey_from_start_to_end", 4): Answers(
        {
            "bias_of_an_empty_cell = 0": "as released",
            "bias_of_an_empty_cell = 10": "half of it",
            "bias_of_an_empty_cell = 1 / (1 - np.exp(-0.1))": "count as 0",
            "bias_of_an_empty_cell = 30": "95 %",
            "k = np.arange(1000)\nbias_of_an_empty_cell = (k * np.exp(-0.1 * k)).sum()": (
                "sum of all weights"
            ),
        },
        [
            "empty = survey[:0]\nbias_of_an_empty_cell = np.mean("
            "[fine(empty).counts.clip(0).mean() for _ in range(60)])",
            "bias_of_an_empty_cell = 5",
        ],
    ),
    ("7_a_survey_from_start_to_end", 5): Answers(
        {
            "share_missing = counts['answered'].value / counts['rows'].value": "with an answer",
            "share_missing = counts['rows'].value - counts['answered'].value": "how many rows",
            "share_missing = counts['rows'].value / counts['answered'].value - 1": "by all rows",
            "share_missing = 100 * (1 - counts['answered'].value / counts['rows'].value)": (
                "percent"
            ),
            "share_missing = survey.visits.isna().mean()": "reads the data",
        },
        [
            "share_missing = round(1 - counts['answered'].value / counts['rows'].value, 3)",
            "share_missing = "
            "(counts['rows'].value - counts['answered'].value) / counts['rows'].value",
        ],
    ),
    ("7_a_survey_from_start_to_end", 6): Answers(
        {
            "weighted = middle.mean()": "alike",
            "weighted = middle.sum()": "before you add",
            "weighted = mean.value": "who answered",
            "weighted = by_health.value.counts @ middle": "take shares",
            "weighted = np.asarray(by_health.value.counts) * middle": "add them up",
            "weighted = complete.visits.clip(0, 40).mean()": "nobody has",
        },
        [
            "weighted = np.average(middle, weights=by_health.value.counts)",
            "weighted = round(float(by_health.value.shares() @ middle), 2)",
        ],
    ),
    ("7_a_survey_from_start_to_end", 7): Answers(
        {
            f"error_of_wide_bounds = {WIDE.format(40, 0.2)}": "of the visits",
            f"error_of_wide_bounds = {WIDE.format(10_000, 1)}": "epsilon = 1",
            "error_of_wide_bounds = dp.mean(0, 10_000, epsilon=0.2)": "that is the pipeline",
            "error_of_wide_bounds = 50_000": "noise of the sum",
            f"error_of_wide_bounds = {WIDE.format(1000, 0.2)}": "end at 1000",
        },
        [
            f"error_of_wide_bounds = round({WIDE.format(10_000, 0.2)}, 1)",
            f"error_of_wide_bounds = {WIDE.format(10_000, 0.2).replace(', confidence=None', '')}",
        ],
    ),
    ("7_a_survey_from_start_to_end", 8): Answers(
        {
            "median = 2": "not the release",
            f"{LEDGER}\nmedian = ({QUANTILE.format(0.5, 0.05)})(survey)": "did not pay",
            f"{LEDGER}\nmedian = ask({QUANTILE.format(0.5, 0.02)})": "epsilon=ask.left",
            f"{LEDGER}\nmedian = ask({QUANTILE.format(0.99, 'ask.left')})": "another quantile",
            f"{LEDGER}\nmedian = ask(visits >> dp.mean(0, 40, epsilon=ask.left))": "no median",
        },
        [f"{LEDGER}\nmedian = ask({QUANTILE.format(0.5, 0.05)})"],
    ),
    ("8_your_own_mechanism", 1): Answers(
        {
            "beyond = lambda v: max(v - 5, 0)": "one by one",
            "beyond = lambda rows: rows - 5": "shall become 0",
            "beyond = lambda rows: np.maximum(rows, 5)": "subtracted too",
            "beyond = lambda rows: np.where(rows > 5, rows, 0)": "stays as it is",
            "beyond = lambda rows: (rows > 5) * 1.0": "not how far",
            "beyond = lambda rows: np.maximum(rows - 5, 0).sum()": "the shape ()",
            "def beyond(rows):\n    rows -= 5\n    rows[rows < 0] = 0\n    return rows": "new one",
        },
        [
            "beyond = lambda rows: np.where(rows > 5, rows - 5, 0)",
            "def beyond(rows):\n    return (rows - 5).clip(0)",
        ],
    ),
    ("8_your_own_mechanism", 2): Answers(
        {
            "lower, upper = -5, 35": "not -5",
            "lower, upper = 0, 40": "not tight",
            "lower, upper = 5, 40": "what becomes",
            "lower, upper = 5, 35": "below",
            "lower, upper = 35, 0": "lower one first",
        },
        ["lower, upper = np.maximum(np.array([0.0, 40.0]) - 5, 0)"],
    ),
    ("8_your_own_mechanism", 3): Answers(
        {
            "false_body = dp.bodies.Box(0, 35)": "the true body",
            "false_body = dp.bodies.Box(0, 40)": "larger than needed",
            "false_body = (0, 20)": "not a tuple",
            "false_body = dp.bodies.Ball(20)": "not a Ball",
            "false_body = dp.bodies.Box(-5, 35)": "larger than needed",
        },
        ["false_body = dp.bodies.Box(5, 35)", "false_body = dp.bodies.Box(0, 30)"],
    ),
    ("8_your_own_mechanism", 4): Answers(
        {
            "rate_for_half = 1 / 35": "epsilon = 1",
            "rate_for_half = 0.5": "that is epsilon",
            "rate_for_half = 35 / 0.5": "upside down",
            "rate_for_half = 0.5 * 35": "so divide",
            "rate_for_half = 0.5 / 40": "by 35",
        },
        ["rate_for_half = 0.0143", "rate_for_half = 1 / 70"],
    ),
    ("8_your_own_mechanism", 5): Answers(
        {
            "far_enough = np.log(19)": "units of 1 / rate",
            "far_enough = 35 * np.log(20)": "the 1 in",
            "far_enough = 35 * np.log(10)": "Laplace",
            "far_enough = 35 * np.log(39)": "one side",
            "far_enough = 0.95 * 35": "solve",
        },
        ["far_enough = 103", "far_enough = -35 * np.log(1 / 0.95 - 1)"],
    ),
    ("8_your_own_mechanism", 6): Answers(
        {
            "loss_there = 1": "the claim",
            "loss_there = 1 / (1 + np.exp(165 / 35)) - 1 / (1 + np.exp(200 / 35))": "take ln p",
            "loss_there = (1 + np.exp(200 / 35)) / (1 + np.exp(165 / 35))": "the factor",
            "loss_there = np.log10((1 + np.exp(200 / 35)) / (1 + np.exp(165 / 35)))": "natural",
            "loss_there = 0.99": "three digits",
        },
        [
            "loss_there = 0.994",
            "loss_there = np.logaddexp(0, 165 / 35) - np.logaddexp(0, 200 / 35)",
        ],
    ),
    ("8_your_own_mechanism", 7): Answers(
        {
            "far_enough_for_laplace = 35 * np.log(20)": "the half",
            "far_enough_for_laplace = 35 * np.log(40)": "halves twice",
            "far_enough_for_laplace = np.log(10)": "units of the scale",
            "far_enough_for_laplace = 103": "your own mechanism",
            "far_enough_for_laplace = 35": "base 10",
        },
        ["far_enough_for_laplace = 81", "far_enough_for_laplace = -35 * math.log(0.1)"],
    ),
    ("11_choosing", 1): Answers(
        {
            "spread = 1": "opposite directions",
            "spread = 0": "their difference",
            "spread = -2": "without a sign",
            "spread = 190": "how many votes",
            "spread = 10": "how far ahead",
        },
        ["spread = 2.0"],
    ),
    ("11_choosing", 2): Answers(
        {
            "chosen_first = 100 / 190": "not to e^",
            "chosen_first = 1 / (1 + np.e)": "second book",
            "chosen_first = 1 / (1 + np.exp(-0.5))": "do not divide",
            "chosen_first = np.e": "add up to 1",
            "chosen_first = 1 - np.exp(-1) / 2": "exercise 3",
        },
        ["chosen_first = 0.73", "chosen_first = np.exp(10) / (np.exp(10) + np.exp(9))"],
    ),
    ("11_choosing", 3): Answers(
        {
            "chosen_by_max = 1 / (1 + np.exp(-1))": "exponential mechanism",
            "chosen_by_max = 1 - np.exp(-1)": "not always first",
            "chosen_by_max = np.exp(-1) / 2": "second book",
            "chosen_by_max = 0.5": "is not taken",
            "chosen_by_max = (1 - np.exp(-1)) / 2": "add the case",
        },
        ["chosen_by_max = 0.82", "chosen_by_max = 1 / 2 + (1 - np.exp(-1)) / 2"],
    ),
    ("11_choosing", 4): Answers(
        {
            "votes_behind = np.log(20) / 0.1": "1000 books",
            "votes_behind = np.log(1000) / 0.1": "t is missing",
            "votes_behind = np.log(20_000)": "divide by epsilon",
            "votes_behind = 2 * np.log(20_000) / 0.1": "spread is 1",
            "votes_behind = (np.log(1000) - np.log(20)) / 0.1": "is added",
        },
        ["votes_behind = 99", "votes_behind = 10 * np.log(1000 / 0.05)"],
    ),
    ("11_choosing", 5): Answers(
        {
            "limit_of_99 = 21": "without calling it",
            THRESHOLD.format(0.99, 0.1): "not a share",
            THRESHOLD.format(99, 0.1): "not a percentage",
            THRESHOLD.format(0.95 * 20_190, 0.1): "95 % of the rows",
            THRESHOLD.format(19_988, 1): "loses 1, not 0.1",
            THRESHOLD.format(20_190, 0.1): "99 % of 20 190 rows",
        },
        [THRESHOLD.format(19_989, 0.1), THRESHOLD.format("0.99 * len(visits)", "1 / 10")],
    ),
    ("11_choosing", 6): Answers(
        {
            "distance = 100 * np.log(10)": "all 100",
            "distance = 100 * np.log(20)": "either side",
            "distance = np.log(1000)": "units of the scale",
            "distance = 100 * np.log(2000)": "one side",
            "distance = 100 * np.log(50)": "add up to 5 %",
        },
        ["distance = 100 * np.log(1000)", "distance = 690"],
    ),
    ("12_composition", 1): Answers(
        {
            "epsilon_of_one = 104": "multiplies",
            "epsilon_of_one = 2 / 52**0.5": "not their squares",
            "epsilon_of_one = 52 / 2": "upside down",
            "epsilon_of_one = 2 / 50": "52 weeks",
            "epsilon_of_one = 0.1": "5.2 by the sum",
        },
        ["epsilon_of_one = 0.038", "epsilon_of_one = 1 / 26"],
    ),
    ("12_composition", 2): Answers(
        {
            "plus = 0.5": "a little more",
            "plus = 1 / (1 + np.exp(0.1))": "that is the probability of -0.1",
            "plus = np.exp(0.1)": "the ratio",
            "plus = 0.55": "compute it",
            "plus = 0.1": "how probable",
        },
        ["plus = 0.525", "plus = 1 / (1 + np.exp(-0.1))"],
    ),
    ("12_composition", 3): Answers(
        {
            "average = 50 * 0.1": "largest sum",
            "average = 0.1 * (2 * p - 1)": "there are 50",
            "average = 0": "a little more probable",
            "average = 50 * 0.1 * p": "take off",
            "average = 50 * (2 * p - 1)": "size of a loss",
        },
        ["average = sums @ exact", "average = 0.25"],
    ),
    ("12_composition", 4): Answers(
        {
            "delta_at_two = exact[sums > 2].sum()": "in full",
            "delta_at_two = (exact * np.exp(2 - sums))[sums > 2].sum()": "does not count",
            "delta_at_two = (exact * (1 - np.exp(2 - sums))).sum()": "beyond 2 count",
            "delta_at_two = (1 - np.exp(2 - sums))[sums > 2].sum()": "by its probability",
            "delta_at_two = delta": "another epsilon",
        },
        ["delta_at_two = fifty.delta(2)", "delta_at_two = 0.001"],
    ),
    ("12_composition", 5): Answers(
        {
            "releases = 34": "one more",
            "releases = 34.5": "whole number",
            "releases = 28": "second part",
            "releases = 15": "natural logarithm",
            "releases = 300": "there are fewer",
        },
        ["releases = 35.0"],
    ),
    ("12_composition", 6): Answers(
        {
            "rate = 0.1": "not in proportion",
            "rate = np.exp(0.1) - 1": "divide by e - 1",
            "rate = 0.1 / (np.e - 1)": "leaves out the logarithm",
            "rate = (np.e - 1) / (np.exp(0.1) - 1)": "upside down",
            "rate = 6.1": "percentage",
        },
        ["rate = 0.061", "rate = np.expm1(0.1) / np.expm1(1)"],
    ),
}
