"""Programs that choose each query, or each test of a threshold, by the answers to those before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from math import ceil
from threading import Lock, RLock
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, cast

import attrs
import numpy as np

from opendp_lite.base.errors import BudgetExceeded, ParameterError, SpaceError
from opendp_lite.base.frozen import OwnCopy, OwnProcess
from opendp_lite.combinators import accounts
from opendp_lite.combinators.accounts import AnyAccount, AnySpace, Order, parts_of_unit
from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.data.table import NamedColumns
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Map, Plan, evaluate
from opendp_lite.engines.rows import OfWhole
from opendp_lite.measurements.noise import exactly_one, require_sensitivity
from opendp_lite.measures import MaxDivergence, PrivacyBudget, ZeroConcentratedDivergence
from opendp_lite.measures.budgets import Loss, require_budget
from opendp_lite.measures.divergences import AnyMeasure, pure_for_zcdp
from opendp_lite.measures.profile import zcdp_of_pure
from opendp_lite.metrics.distances import SymmetricDistance
from opendp_lite.numbers.exact import Number, exact, floor_log2, nearest, positive, quote, whole
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Facts, M, Measurement, R, Transformation
from opendp_lite.pipeline.questions import Pipeline
from opendp_lite.pipeline.steps import Mechanism, Stage, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exact_reals import LazyExponential, exact_floor
from opendp_lite.samplers.law import SCALE_SLACK
from opendp_lite.spaces.domains import Rows, Scalars, Vectors
from opendp_lite.spaces.space import Space
from opendp_lite.spaces.tables import AnyRows
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.sums import count, sum

A = TypeVar("A")


class RunningProgram:
    """A program's rows and their space, until it ends.

    Args:
        rows: The rows.
        space: Their space.
        asks: What the program calls its questions by, for a refusal.
    """

    def __init__(self, rows: object, space: Space[Rows], asks: str) -> None:
        self.rows, self.space = rows, space
        self.ended = False
        self.lock = RLock()
        self.process = OwnProcess(asks)
        self._asks = asks

    def require_open(self) -> None:
        """Refuses a question before any data is read."""
        if self.ended:
            raise SpaceError(f"the program has ended: {self._asks} answers only while it runs")

    def end(self) -> None:
        """Lets go of the data. In a fork a thread that is not there may hold the lock."""
        with self.lock if self.process.is_here else nullcontext():
            self.ended = True
            self.rows = None


class _Running(RunningProgram):
    """A program that asks, with the account that pays."""

    def __init__(self, rows: object, space: Space[Rows], root: AnyAccount) -> None:
        super().__init__(rows, space, "ask")
        self.root = root

    def answer(
        self,
        account: AnyAccount,
        order: Order,
        bound: Measurement[Space[Rows], AnyMeasure, R],
        entropy: Entropy,
    ) -> R:
        """Pays for an order, and then makes the release."""
        self.process.require()
        accounts.require_root(account, self.root)
        with self.lock:
            self.require_open()
            account.pay(order)
            answer = partial(bound.function, self.rows, entropy)
            with np.errstate(all="ignore"):
                release: R = accounts.witness_answer(bound, order.price, answer)
        self.process.require()
        return release


@attrs.frozen(eq=False, repr=False)
class Ask(accounts.Spender[M]):
    """Answers the queries of an adaptive program, which never holds the data: see ``adaptive``.

    Call it with a pipeline that ends in noise to get a release. A copy is the same ``ask``: it
    spends the same budget and ends with the program.

    Example:
        >>> import opendp_lite as dp
        >>> def program(ask: dp.combinators.Ask) -> float:
        ...     return ask(dp.count() >> dp.laplace(epsilon=ask.left))
        >>> dp.adaptive(program, dp.epsilon(1)).map(1)
        1.0
    """

    _running: _Running
    _account: accounts.Account[M]
    _entropy: Entropy

    def __call__(self, query: Mechanism[Space[Rows], Any, R]) -> R:
        """A release of the query, if what is left of the budget pays for it.

        Args:
            query: A pipeline that ends in noise, bound to no space.

        Returns:
            Its release on the program's rows.

        Raises:
            BudgetExceeded: If the budget does not pay for it. No data is read.
            SpaceError: If its loss is in a measure that the budget's does not convert, the program
                has ended, or this is another process, such as a fork.
        """
        bound = self._bound(query)
        order = Order(bound, accounts.find_price(bound, self._account.budget.measure))
        return self._running.answer(self._account, order, bound, self._entropy)

    @property
    def space(self) -> Space[Rows]:
        """The space that pipelines are bound to.

        ``ask.space.domain.size`` is the number of rows where that is public.
        """
        return self._running.space

    def split(self, parts: int) -> tuple[Ask[M], ...]:
        """Divides what is left evenly. What a part spends is spent here too.

        Args:
            parts: How many.

        Returns:
            As many ``ask``, each with a budget of its own.
        """
        self._running.process.require()
        found = accounts.parts_of(self._account, parts)
        return tuple(Ask(self._running, each, self._entropy) for each in found)

    def _bound(
        self, query: Mechanism[Space[Rows], Any, R]
    ) -> Measurement[Space[Rows], AnyMeasure, R]:
        accounts.require_query(query)
        return query.bind(self.space)

    def __reduce__(self) -> NoReturn:
        raise ParameterError("ask cannot be pickled: it ends with its program")


@mechanism(
    does="Runs a program that chooses each query by the answers before.",
    proof=Proof(
        "A query is priced before its answer exists, and prices add up to at most the budget: "
        "a privacy filter. The rest of the program is post-processing. Inside of `by` each part of "
        "a unit loses at most its share of each price, and so of the budget.",
        adding="the budget",
        replacing="the budget",
        sources=[
            "Rogers, Roth, Ullman, Vadhan 2016",
            "Feldman and Zrnic 2021, for zCDP",
            "Smith and Thakurta 2022, for Gaussian privacy",
        ],
    ),
)
def adaptive(
    space: Space[AnyRows], program: Callable[[Ask[M]], R], budget: PrivacyBudget[M]
) -> Measurement[Space[AnyRows], M, R]:
    """Runs a program that chooses each query by the answers before.

    Args:
        program: A function of ``ask``. ``ask(pipeline)`` gives a release of the pipeline on the
            program's rows; ``ask.left`` says what may still be spent.
        budget: The most that all queries may cost together: ``dp.epsilon(1)``, ``dp.rho(1)``,
            ``dp.mu(1)`` or ``dp.epsilon(1, delta=1e-6)``. A query beyond it raises
            ``BudgetExceeded`` before any data is read. A query whose loss is in another measure
            costs what ``ask.price(query)`` says.

    Returns:
        What the program returns. The program never holds the data, and ``ask`` ends with it.

    Raises:
        ParameterError: If ``program`` is no function or ``budget`` no budget.

    Example:
        >>> import opendp_lite as dp
        >>> def recentred(ask):
        ...     middle = ask(dp.private_quantile(0.5, bounds=(0, 100), rho=0.01, confidence=None))
        ...     total = ask(
        ...         dp.center(middle) >> dp.clamp(-9, 9) >> dp.sum() >> dp.gaussian(rho=ask.left)
        ...     )
        ...     return middle + total[0] / 1000
        >>> estimate = dp.adaptive(recentred, dp.rho(0.03))
        >>> estimate.map(1)
        0.03
        >>> round(float(estimate([42.0] * 1000)))
        42
    """
    if not callable(program) or isinstance(program, Pipeline):
        raise ParameterError(f"adaptive takes a function of ask, got {quote(program)}")
    require_budget(budget, "adaptive")
    explanation = "the budget of the program; queries beyond it are refused"
    # As it was typed: the limits of a session's filter are no price.
    stated = budget.stated
    return make_adaptive(space, program, stated.measure, stated.loss, explanation)


def make_adaptive(
    space: Space[Rows], program: Callable[[Ask[M]], R], measure: M, budget: Loss, explanation: str
) -> Measurement[Space[Rows], M, R]:
    """As ``adaptive``, for a constructor of mechanisms. It explains where the loss goes."""

    def start(rows: object, entropy: Entropy) -> tuple[_Running, Ask[M]]:
        account = accounts.MemoryAccount(PrivacyBudget(measure, budget))
        running = _Running(rows, space, account)
        return running, Ask(running, account, entropy)

    def lose(share: Fraction) -> Loss:
        """What a part of a unit loses of the budget: see ``find_price``."""
        paid = share**measure.power
        if paid == 1 or measure.cover(budget, budget, paid) is None:
            return budget
        found: Loss = measure.split(budget, (paid, 1 - paid))[0]
        return found

    return measure_program(space, measure, lose, program, start, explanation)


@attrs.frozen
class TriedOnNames(OfWhole):
    """The table, once a plan was tried on its columns without rows.

    So nothing is paid for a misspelt one, or for text that a program would read as numbers.
    """

    columns: tuple[str, ...]
    plan: Plan
    step: str

    def before(self, made: Measurement[Space[Rows], M, R]) -> Measurement[Space[Rows], M, R]:
        """A measurement of tables that tries first."""
        return attrs.evolve(made, function=attrs.evolve(made.function, of=Map(self, self.step)))

    def __call__(self, table: LazyTable, /) -> LazyTable:
        table.dataset.require(self.columns, self.step)
        whole = table.dataset.whole
        if isinstance(whole, NamedColumns):
            dataset = Dataset(whole.without_rows(), table.dataset.declared, None)
            evaluate(self.plan, attrs.evolve(table, dataset=dataset))
        return table


def measure_program(
    space: Space[Rows],
    measure: M,
    lose: Callable[[Fraction], Loss],
    program: Callable[[A], R],
    start: Callable[[object, Entropy], tuple[RunningProgram, A]],
    explanation: str,
) -> Measurement[Space[Rows], M, R]:
    """A measurement that runs a program.

    Args:
        space: The space of its rows.
        measure: The measure of its loss.
        lose: The loss for a share of one unit: that of 1 is for all of it.
        program: What is run.
        start: Gives, from the rows, what ends with the program and what the program asks by.
        explanation: Where the loss goes.
    """

    def function(rows: object, entropy: Entropy) -> R:
        running, asks = start(rows, entropy)
        try:
            return accounts.witness_program(partial(program, asks))
        finally:
            running.end()

    sizes = (*parts_of_unit(space), space.unit)

    def privacy_map(distance: Fraction) -> object:
        if 0 < distance <= space.unit:
            return lose(next(size for size in sizes if distance <= size) / space.unit)
        # Both hold: so many groups of the least size, and so many units.
        by_unit, by_least = (
            measure.group(lose(size / space.unit), ceil(distance / size))
            for size in (space.unit, sizes[0])
        )
        return by_least if measure.within(by_least, by_unit) else by_unit

    return Measurement(space, measure, function, privacy_map, Facts(explanation=explanation))


_FINE_BITS: Final = 20
_SHARE_BITS: Final = 20
_MANY: Final = 2**50
AnyTest: TypeAlias = Transformation[Space[Rows], AnySpace]


@attrs.frozen
class ThresholdNoise:
    """The noise of one run, in units of a query's sensitivity.

    Args:
        on_threshold: The mean of the noise on the threshold.
        on_query: The mean of the noise on each query.
        positives: How many answers above one noisy threshold serves.
    """

    on_threshold: Fraction
    on_query: Fraction
    positives: int

    @classmethod
    def of(cls, epsilon: Fraction, positives: int, monotone: bool) -> ThresholdNoise:
        """The noise that costs epsilon: every share of it costs the same.

        A share of shift^(2/3) for the queries makes the variance of one comparison least. The
        threshold has one noise and of many queries the largest counts, so they have half as much
        again: near the best for ten queries, 5 to 12 % better for a hundred, 8 % worse for one.
        """
        shift = positives if monotone else 2 * positives
        ratio = 1.5 * min(shift, _MANY) ** (2 / 3)
        share = 1 + Fraction(round(ratio * 2**_SHARE_BITS), 2**_SHARE_BITS)
        first = epsilon / share
        return cls(1 / first, shift / (epsilon - first), positives)


def noise_of_mean(mean: Fraction, entropy: Entropy, parts: int = 1) -> Fraction:
    """Exponential noise less its mean, on a grid of which 1 / ``parts`` is a multiple."""
    cells = parts * 2 ** max(0, _FINE_BITS - floor_log2(mean))
    scale = mean * SCALE_SLACK * cells
    steps = exact_floor(LazyExponential(entropy.word() >> 1), scale, Fraction(0), entropy)
    return Fraction(steps, cells) - mean


class _NoisyThreshold(RunningProgram):
    """A program that tests; the one thing that changes while it runs."""

    def __init__(
        self,
        rows: object,
        space: Space[Rows],
        noise: ThresholdNoise,
        most: int,
        entropy: Entropy,
        *,
        monotone: bool,
    ) -> None:
        super().__init__(rows, space, "test")
        self.noise, self.left, self.entropy, self.monotone = noise, most, entropy, monotone
        self.served = 0
        self.sizes = (*parts_of_unit(space), space.unit)
        self.level = self._noise(noise.on_threshold)
        self.busy = Lock()

    def answer(self, query: AnyTest, threshold: Fraction) -> bool:
        """Whether the value of a bound query is above, each of the two with noise.

        The value is computed first. From then on nothing that a query brings runs: whether an
        answer is left is found, and the answer taken, in one go. It is taken before the comparison
        and given back after an answer below, so that an interruption costs it.
        """
        moved = max(_move(query, size) * (self.space.unit / size) for size in self.sizes)
        self.process.require()
        with self.lock:
            if self.busy.locked():
                raise SpaceError(
                    "above_threshold: a step of a query calls test; test one at a time"
                )
            with self.busy:
                self.require_open()
                with np.errstate(all="ignore"):
                    found = query.output_space.domain.receive(query.function(self.rows))
                value = found.exact[0]
                self.process.require()
                compared = partial(self._is_above, value, threshold, moved)
                self.left -= 1
                above = accounts.witness_answer(query, threshold, compared)
                if above:
                    self._count()
                else:
                    self.left += 1
            return above

    def require_open(self) -> None:
        super().require_open()
        if self.left <= 0:
            raise BudgetExceeded(
                "above_threshold: all answers above were given. Stop after the last, or let "
                "most= be larger"
            )

    def _noise(self, mean: Fraction) -> Fraction:
        parts = self.space.unit.numerator if len(self.sizes) > 1 else 1
        return noise_of_mean(mean, self.entropy, parts)

    def _is_above(self, value: Fraction, threshold: Fraction, sensitivity: Fraction) -> bool:
        """One comparison, exactly."""
        moved = self._noise(self.noise.on_query) - self.level
        return value - threshold + sensitivity * moved >= 0

    def _count(self) -> None:
        """One answer above was given. After enough of them, the threshold has new noise."""
        self.served += 1
        if self.left > 0 and self.served == self.noise.positives:
            self.served = 0
            self.level = self._noise(self.noise.on_threshold)


@attrs.frozen(eq=False, repr=False)
class ThresholdTest(OwnCopy):
    """Tests values of private rows against a threshold: see ``above_threshold``.

    Call it with a pipeline without noise that ends in one number, such as ``dp.count()``. A copy is
    the same test, and ends with the program.

    Args:
        threshold: What values are compared with where a call gives no other.

    Example:
        >>> import opendp_lite as dp
        >>> def any_child(test):
        ...     return test(dp.transformations.indicator_below(18) >> dp.sum(), threshold=100)
        >>> asked = dp.above_threshold(any_child, threshold=100, epsilon=1, monotone=True)
        >>> asked([12] * 1000 + [40] * 1000)
        True
    """

    threshold: Fraction
    _account: _NoisyThreshold

    def __call__(
        self, query: Stage[Space[Rows], AnySpace], threshold: Number | None = None
    ) -> bool:
        """Whether the value with noise reaches the threshold with noise.

        Args:
            query: A pipeline without noise that ends in one number, bound to no space.
            threshold: In place of the program's threshold. It may depend on earlier answers.

        Returns:
            One bit. The noise is in proportion to how far a row moves this query.

        Raises:
            BudgetExceeded: If all answers above were given. No data is read.
            SpaceError: If it is no such pipeline, the program has ended, a step of another query
                calls this, or this is another process, such as a fork.
        """
        bound = self._bound(query)
        level = self.threshold if threshold is None else exact(threshold, "threshold")
        return self._account.answer(bound, level)

    @property
    def space(self) -> Space[Rows]:
        """The space that pipelines are bound to."""
        return self._account.space

    @property
    def monotone(self) -> bool:
        """Whether only sums that grow with each row are tested."""
        return self._account.monotone

    @property
    def left(self) -> int:
        """How many answers above may still come."""
        return self._account.left

    def _bound(self, query: object) -> AnyTest:
        if not isinstance(query, Stage):
            raise SpaceError(_no_query(query))
        bound = query.bind(self.space)
        domain = bound.output_space.domain
        if not isinstance(domain, Scalars | Vectors) or domain.dimension != 1:
            raise SpaceError(
                f"above_threshold tests one number, {query.calls[-1].brief()} gives "
                f"{domain.words()}; put sum() or count() of one column last"
            )
        if self.monotone:
            _require_growing(query, self.space)
        return bound

    def __reduce__(self) -> NoReturn:
        raise ParameterError("test cannot be pickled: it ends with its program")


def _move(query: AnyTest, size: Fraction) -> Fraction:
    """How far a query moves with so many rows.

    By the map: the unit of an output space by hand is what its author wrote beside the map.
    """
    found = cast(Norms, query.stability_map(size)).over(1)
    return cast(Fraction, require_sensitivity(found, "above_threshold").linf)


def _no_query(given: object) -> str:
    wanted = "above_threshold tests a pipeline without noise, bound to no space, such as dp.count()"
    if isinstance(given, Mechanism):
        return f"{wanted}; leave out the noise of {given.calls[-1].brief()}"
    if isinstance(given, Transformation):
        return f"{wanted}; leave out {given.input_space!r}, the program has its own rows"
    return f"{wanted}; got {quote(given)}"


def _require_growing(query: accounts.AnyStage, space: AnySpace) -> None:
    """Refuses a query that a row could move down: all but sums over rows taken one by one."""
    *before, last = query.calls
    for call in before:
        step = call.join(space)
        if not step.function.row_by_row:
            raise SpaceError(f"{_GROWING}; {call.brief()} does not take rows one by one")
        space = step.output_space
    bounds = space.domain.body.bounds()
    if last.is_of(count) or (last.is_of(sum) and bounds is not None and min(bounds[0]) >= 0):
        return
    raise SpaceError(f"{_GROWING}; {last.brief()} may move down")


_GROWING: Final = (
    "above_threshold(monotone=True) tests count(), or sum() of rows without negative entries, such "
    "as clamp(0, 1) >> sum()"
)


@mechanism(
    does="Finds which of many values are above a threshold: the sparse vector technique.",
    proof=Proof(
        "In units of a query's sensitivity, answers below are as likely when the noise on the "
        "threshold grows by 1, and an answer above when its own noise also grows by 2. Under "
        "zCDP the losses of one technique for each answer above add.",
        adding="the budget",
        replacing="the budget",
        sources=[
            "Lyu, Su, Li 2017, theorem 4",
            "Liu and others 2024, for exponential noise",
            "Bun and Steinke 2016, lemma 1.7",
        ],
    ),
)
def above_threshold(
    space: Space[AnyRows],
    program: Callable[[ThresholdTest], R],
    threshold: Number,
    budget: PrivacyBudget[AnyMeasure] | None = None,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    most: int = 1,
    monotone: bool = False,
) -> Measurement[Space[AnyRows], Any, R]:
    """Finds which of many values are above a threshold: the sparse vector technique.

    You pay only for the answer True, which means above. Any number of answers False are free. A
    program may choose each query by the answers before it.

    Args:
        program: A function of ``test``. ``test(pipeline)`` says whether the value of a pipeline
            without noise is above the threshold; ``test.left`` says how many answers True may
            still come.
        threshold: What values are compared with. ``test(pipeline, threshold=)`` takes another.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        epsilon: The pure loss of all answers together.
        rho: The zCDP loss of all answers together, in place of ``epsilon``.
        most: How many answers True may be given. A later test raises ``BudgetExceeded``.
        monotone: Whether only ``count()`` and ``sum()`` of rows without negative entries are
            tested, with the number of rows private. Other queries are then refused, and the noise
            is smaller.

    Returns:
        What the program returns. The program never holds the data, and ``test`` ends with it.

    Raises:
        ParameterError: If ``program`` is no function, or none or both of the budgets are given.
        SpaceError: If ``monotone`` is asked for where the number of rows is public, or the
            neighbours are people.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [12] * 5 + [23] * 2000 + [58] * 900
        >>> def decade(test):
        ...     for limit in range(10, 100, 10):
        ...         if test(dp.transformations.indicator_below(limit) >> dp.sum()):
        ...             return limit
        >>> first = dp.above_threshold(decade, threshold=1000, epsilon=1, monotone=True)
        >>> first.map(1)
        1.0
        >>> first(ages)
        30
    """
    if not callable(program) or isinstance(program, Pipeline):
        raise ParameterError(f"above_threshold takes a function of test, got {quote(program)}")
    level, answers = exact(threshold, "threshold"), whole(most, "most", least=1)
    if monotone and (space.metric != SymmetricDistance() or space.unit != 1):
        raise SpaceError(
            "above_threshold: monotone=True needs that one row is added or removed; here it is "
            f"{space.metric.words(space.unit)}, which may move values in both directions. Leave it "
            "out"
        )
    measure: AnyMeasure
    if exactly_one("above_threshold", epsilon=epsilon, rho=rho) == "epsilon":
        measure, spent = MaxDivergence(), positive(epsilon, "epsilon")
        pure, noise = spent, ThresholdNoise.of(spent, answers, monotone)
    else:
        measure, spent = ZeroConcentratedDivergence(), positive(rho, "rho")
        pure = pure_for_zcdp(spent / answers)
        noise = ThresholdNoise.of(pure, 1, monotone)

    def lose(share: Fraction) -> Fraction:
        """A part of a unit moves each query by its share, so that the pure loss is a share too."""
        if measure == MaxDivergence():
            return share * spent
        return spent if share == 1 else answers * zcdp_of_pure(share * pure)

    def start(rows: object, entropy: Entropy) -> tuple[_NoisyThreshold, ThresholdTest]:
        account = _NoisyThreshold(rows, space, noise, answers, entropy, monotone=monotone)
        return account, ThresholdTest(level, account)

    explanation = (
        f"noise of mean {nearest(noise.on_threshold):.6g} on the threshold and of "
        f"{nearest(noise.on_query):.6g} on each query, times how far a row moves the query"
    )
    return measure_program(space, measure, lose, program, start, explanation)
