"""The sparse vector technique: which of many values are above a threshold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from math import ceil
from threading import Lock, RLock
from typing import Any, Final, cast, overload

import attrs
import numpy as np

from opendp_lite.combinators.witness import answered, ran
from opendp_lite.core import Facts, Measurement, R, Transformation
from opendp_lite.domains import Rows, Scalars, Vectors
from opendp_lite.engines.deferred import Chained
from opendp_lite.engines.lazy_table import Lazily
from opendp_lite.engines.rows import MapRows
from opendp_lite.errors import BudgetExceeded, ParameterError, SpaceError
from opendp_lite.exact import Number, described, exact, floor_log2, nearest, positive, whole
from opendp_lite.measurements.noise import exactly_one, require_sensitivity
from opendp_lite.measures.conversion import pure_for_zcdp
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import SymmetricDistance
from opendp_lite.own_process import OwnProcess
from opendp_lite.pipeline import Pipeline
from opendp_lite.recipes import Mechanism, Stage, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import LazyExponential, exact_floor
from opendp_lite.samplers.law import SCALE_SLACK
from opendp_lite.spaces import Space
from opendp_lite.tables import AnyRows
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

_FINE_BITS: Final = 20
_SHARE_BITS: Final = 20
_MANY: Final = 2**50


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
        """The noise that costs epsilon, shared so that its variance is about the least."""
        shift = positives if monotone else 2 * positives
        ratio = min(shift, _MANY) ** (2 / 3)
        share = 1 + Fraction(round(ratio * 2**_SHARE_BITS), 2**_SHARE_BITS)
        first = epsilon / share
        return cls(1 / first, shift / (epsilon - first), positives)


def noise_of_mean(mean: Fraction, entropy: Entropy) -> Fraction:
    """Exponential noise less its mean, on a grid of which 1 is a multiple."""
    bits = max(0, _FINE_BITS - floor_log2(mean))
    scale = mean * SCALE_SLACK * 2**bits
    steps = exact_floor(LazyExponential(entropy.word() >> 1), scale, Fraction(0), entropy)
    return Fraction(steps, 2**bits) - mean


class _NoisyThreshold:
    """The one thing that changes while a program runs."""

    def __init__(
        self,
        rows: Any,
        space: Space[Rows],
        noise: ThresholdNoise,
        most: int,
        entropy: Entropy,
        *,
        monotone: bool,
    ) -> None:
        self.space, self.monotone = space, monotone
        self.rows, self.noise, self.left, self.entropy = rows, noise, most, entropy
        self.served = 0
        self.level = noise_of_mean(noise.on_threshold, entropy)
        self.ended = False
        self.lock, self.busy = RLock(), Lock()
        self.process = OwnProcess("test")

    def answer(self, query: Transformation[Any, Any], threshold: Fraction) -> bool:
        """Whether the value of a bound query is above, each of the two with noise.

        The value is computed first. From then on nothing that a query brings runs: whether an
        answer is left is found, and the answer taken, in one go. It is taken before the comparison
        and given back after an answer below, so that an interruption costs it.
        """
        unit = query.output_space.unit.over(1)
        moved = cast(Fraction, require_sensitivity(unit, "above_threshold").linf)
        self.process.require()
        with self.lock:
            if self.busy.locked():
                raise SpaceError(
                    "above_threshold: a step of a query calls test; test one at a time"
                )
            with self.busy:
                self._require_open()
                with np.errstate(all="ignore"):
                    found = query.output_space.domain.received(query.function(self.rows))
                value = found.exact[0]
                self.process.require()
                compared = partial(self._is_above, value, threshold, moved)
                self.left -= 1
                above = answered(query, threshold, compared)
                if above:
                    self._count()
                else:
                    self.left += 1
            return above

    def _require_open(self) -> None:
        """Refuses a test before any data is read."""
        if self.ended:
            raise SpaceError("the program has ended: test answers only while it runs")
        if self.left <= 0:
            raise BudgetExceeded(
                "above_threshold: all answers above were given. Stop after the last, or let "
                "most= be larger"
            )

    def _is_above(self, value: Fraction, threshold: Fraction, sensitivity: Fraction) -> bool:
        """One comparison, exactly."""
        moved = noise_of_mean(self.noise.on_query, self.entropy) - self.level
        return value - threshold + sensitivity * moved >= 0

    def _count(self) -> None:
        """One answer above was given. After enough of them, the threshold has new noise."""
        self.served += 1
        if self.left > 0 and self.served == self.noise.positives:
            self.served = 0
            self.level = noise_of_mean(self.noise.on_threshold, self.entropy)

    def end(self) -> None:
        """Lets go of the data. In a fork a thread that is not there may hold the lock."""
        with self.lock if self.process.is_here else nullcontext():
            self.ended = True
            self.rows = None


@attrs.frozen(eq=False, repr=False)
class ThresholdTest:
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
        self, query: Stage[Space[Rows], Space[Any]], threshold: Number | None = None
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

    def _bound(self, query: Stage[Space[Rows], Space[Any]]) -> Any:
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

    def __copy__(self) -> ThresholdTest:
        return self

    def __deepcopy__(self, memo: Any) -> ThresholdTest:
        return self

    def __reduce__(self) -> Any:
        raise ParameterError("test cannot be pickled: it ends with its program")


def _no_query(given: object) -> str:
    wanted = "above_threshold tests a pipeline without noise, bound to no space, such as dp.count()"
    if isinstance(given, Mechanism):
        return f"{wanted}; leave out the noise of {given.calls[-1].brief()}"
    if isinstance(given, Transformation):
        return f"{wanted}; leave out {given.input_space!r}, the program has its own rows"
    return f"{wanted}; got {described(given)}"


def _require_growing(query: Stage[Any, Any], space: Space[Any]) -> None:
    """Refuses a query that a row could move down: all but sums over rows taken one by one."""
    *before, last = query.calls
    for call in before:
        step = call.join(space)
        whole = step.function
        parts = whole.functions if isinstance(whole, Chained) else (whole,)
        if not all(isinstance(part, MapRows | Lazily) for part in parts):
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


@overload
def above_threshold(
    program: Callable[[ThresholdTest], R],
    threshold: Number,
    *,
    epsilon: Number,
    most: int = 1,
    monotone: bool = False,
) -> Mechanism[Space[AnyRows], MaxDivergence, R]: ...
@overload
def above_threshold(
    program: Callable[[ThresholdTest], R],
    threshold: Number,
    *,
    rho: Number,
    most: int = 1,
    monotone: bool = False,
) -> Mechanism[Space[AnyRows], ZeroConcentratedDivergence, R]: ...
@mechanism
def above_threshold(
    space: Space[AnyRows],
    program: Callable[[ThresholdTest], R],
    threshold: Number,
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

    Privacy:
        The budget, for one unit of the rows before it, whatever the program asks. For more units,
        the loss of a group in the measure.

    Proof:
        Lyu, Su, Li 2017, theorem 4, with exponential in place of Laplace noise (Liu and others
        2024). In units of each query's own sensitivity, a row moves a value by 1 at most. Answers
        below stay at least as likely if the threshold's noise grows by 1. An answer above does if
        the query's noise also grows by 2, or by 1 where all values move in one direction. Both
        noises lie on grids that hold 1, and each step of theirs costs the same, so that is
        1 / mean for the threshold and 2 / mean for each answer above. Values and noise are compared
        as rationals. With ``rho`` each answer above ends one technique and begins another. Their
        losses, each epsilon tanh(epsilon / 2), add (Bun and Steinke 2016, lemma 1.7).

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
        raise ParameterError(f"above_threshold takes a function of test, got {described(program)}")
    if not isinstance(monotone, bool):
        raise ParameterError(
            f"above_threshold: monotone is True or False, got {described(monotone)}"
        )
    level, answers = exact(threshold, "threshold"), whole(most, "most", least=1)
    if monotone and (space.metric != SymmetricDistance() or space.unit != 1):
        raise SpaceError(
            "above_threshold: monotone=True needs that one row is added or removed; here it is "
            f"{space.metric.words(space.unit)}, which may move values in both directions. Leave it "
            "out"
        )
    measure: Measure[Any]
    if exactly_one("above_threshold", epsilon=epsilon, rho=rho) == "epsilon":
        measure, budget = MaxDivergence(), positive(epsilon, "epsilon")
        noise = ThresholdNoise.of(budget, answers, monotone)
    else:
        measure, budget = ZeroConcentratedDivergence(), positive(rho, "rho")
        noise = ThresholdNoise.of(pure_for_zcdp(budget / answers), 1, monotone)

    def function(rows: Any, entropy: Entropy) -> R:
        account = _NoisyThreshold(rows, space, noise, answers, entropy, monotone=monotone)
        try:
            test = ThresholdTest(level, account)
            return ran(partial(program, test))
        finally:
            account.end()

    def privacy_map(distance: Fraction) -> Any:
        return measure.group(budget, ceil(distance / space.unit))

    explanation = (
        f"noise of mean {nearest(noise.on_threshold):.6g} on the threshold and of "
        f"{nearest(noise.on_query):.6g} on each query, times how far a row moves the query"
    )
    return Measurement(space, measure, function, privacy_map, Facts(explanation=explanation))
