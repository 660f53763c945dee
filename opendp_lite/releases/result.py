"""What every release answers to what people type and it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import attrs
import numpy as np

from opendp_lite.base.errors import name_like
from opendp_lite.base.spelling import Storable

# Typed by people who know scipy, statsmodels or pandas, and what releases have in their place.
_INSTEAD: Final = {
    "ci": ("interval", "intervals"),
    "conf_int": ("interval", "intervals"),
    "confidence_interval": ("interval", "intervals"),
    "error": ("standard_error", "standard_errors"),
    "estimate": ("value", "values"),
    "high": ("interval[1]", "intervals"),
    "json": ("as_dict()",),
    "low": ("interval[0]", "intervals"),
    "lower": ("interval[0]", "intervals"),
    "mean": ("value", "values"),
    "n": ("rows",),
    "se": ("standard_error", "standard_errors"),
    "std": ("standard_error", "standard_errors"),
    "stderr": ("standard_error", "standard_errors"),
    "to_dict": ("as_dict()",),
    "to_json": ("as_dict()",),
    "upper": ("interval[1]", "intervals"),
}
_FRAMES: Final = ("df", "frame", "to_dataframe", "to_frame", "to_pandas", "to_series")
_PICTURES: Final = ("bar", "hist", "plot", "show")


class Result(Storable):
    """What releases share: pickles by public names, and what to type in place of what they lack."""

    __slots__ = ()
    picture: ClassVar[str] = "the functions of dp.plotting draw releases"
    frame: ClassVar[str] = "pd.Series(release.as_dict())"

    if not TYPE_CHECKING:
        # Hidden from type checkers, which are to flag what is refused here.

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            said = f"{kind.__name__!r} object has no attribute {name!r}"
            hint = "" if name.startswith("_") else _hint(kind, name)
            raise AttributeError(f"{said}{hint}", name=name, obj=self)

        def _refuse_arithmetic(self, *_: object) -> NoReturn:
            kind = type(self)
            plain = "release.value" if hasattr(kind, "value") else "release.as_dict()"
            raise TypeError(
                f"{_with_article(kind.__name__)} is a release with its error, and does not compute "
                f"or compare: the error would be lost. Write {plain} for what is released alone"
            )

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_arithmetic
        __truediv__ = __rtruediv__ = __pow__ = __neg__ = __abs__ = _refuse_arithmetic
        __round__ = __int__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_arithmetic


def _hint(kind: type[Result], name: str) -> str:
    if name in _FRAMES:
        return f"; type {kind.frame}"
    if name in _PICTURES:
        return f"; {kind.picture}"
    for each in _INSTEAD.get(name, ()):
        if hasattr(kind, each.partition("[")[0].removesuffix("()")):
            return f"; it has .{each}"
    near = name_like(name, [each for each in dir(kind) if not each.startswith("_")])
    return f"; did you mean .{near[0]}?" if near else ""


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


class NotPrivateArray(np.ndarray[Any, np.dtype[Any]]):
    """An exact result of a pipeline without noise. It works like any numpy array."""

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self), separator=", ", prefix="NotPrivate(")
        return f"NotPrivate({text})"

    __str__ = __repr__


class NotPrivateInt(int):
    """An exact count of a pipeline without noise."""

    def __repr__(self) -> str:
        return f"NotPrivate({int(self)})"

    __str__ = __repr__


class NotPrivateFloat(float):
    """An exact number of a pipeline without noise."""

    def __repr__(self) -> str:
        return f"NotPrivate({float(self)})"

    __str__ = __repr__


def mark_as_exact(
    value: np.ndarray | float,
) -> NotPrivateArray | NotPrivateInt | NotPrivateFloat:
    """The value, which says in its repr that it is not private."""
    if isinstance(value, np.ndarray):
        return value.view(NotPrivateArray)
    return NotPrivateInt(value) if isinstance(value, int) else NotPrivateFloat(value)


@attrs.frozen
class InsecureRelease(Storable):
    """A reproducible release: NOT private, for tests and teaching.

    Args:
        value: The release.
        seed: The seed that repeats it.

    Example:
        >>> import opendp_lite as dp
        >>> count = dp.count() >> dp.laplace(epsilon=1)
        >>> count.insecure_release([1, 2, 3], seed=4)
        InsecureRelease(NOT PRIVATE, seed=4, value=3)
    """

    value: Any
    seed: int

    def __repr__(self) -> str:
        return f"InsecureRelease(NOT PRIVATE, seed={self.seed}, value={self.value!r})"
