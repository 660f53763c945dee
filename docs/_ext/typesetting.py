"""Formulas that stand in prose as ASCII, as MathML.

Proofs and docstrings are read in a terminal too, by ``help`` and ``explain``, so their source is
ASCII: ``rho = l2^2 / (2 scale^2)``. The site shows the same text typeset. What parses whole as a
formula becomes one; a word next to no operator is prose, and all that is in doubt stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import attrs

_TOKEN: Final = re.compile(
    r"\d+(?:\.\d+)*(?:e-?\d+)?|[A-Za-z]+\d*(?:_[A-Za-z0-9]+)?['\u2019]*|<=|>=|->|\+-|\|\||\.\.\.|\S"
)
_GREEK: Final = {
    "alpha": "\u03b1",
    "delta": "\u03b4",
    "epsilon": "\u03b5",
    "lambda": "\u03bb",
    "mu": "\u03bc",
    "pi": "\u03c0",
    "rho": "\u03c1",
    "sigma": "\u03c3",
    "tau": "\u03c4",
    "theta": "\u03b8",
    "Gamma": "\u0393",
}
_NORMS: Final = {"l1": "1", "l2": "2", "linf": "\u221e"}
_APPLIED: Final = {"log", "ln", "tanh", "cosh", "cos", "sin", "sum"}
"""Functions that are written before their argument, with no parentheses around it."""
_CALLED: Final = {"exp", "sqrt", "max", "min", "abs", "floor", *_APPLIED}
_FACTORS: Final = {"rate", "scale", "spread", "stretch", *_APPLIED}
"""Words that may be a factor without a sign of multiplication: ``rate spread``."""
_FIRST: Final = {"rate", *_APPLIED}
"""Those with which a product may begin: "the scale 1/s" is no product."""
_RELATIONS: Final = {
    "=": "=",
    "<=": "\u2264",
    ">=": "\u2265",
    "<": "&lt;",
    ">": "&gt;",
    "->": "\u2192",
}
_ADDED: Final = {"+": "+", "-": "\u2212", "+-": "\u00b1"}
_TERMS: Final = {**_RELATIONS, **_ADDED}
_DIVIDED: Final = {"/": "/", "*": "\u22c5"}
_LISTED: Final = {",": ",", ".": "\u22c5"}
"""What stands between the parts of a group: a list, or an inner product, ``(x . y)``."""
_CLOSING: Final = {"(": ")", "[": "]", "|": "|", "||": "||"}
_BARS: Final = {"|": "|", "||": "\u2016"}
_ARTICLES: Final = {"a", "A", "I"}
_NUMBERED: Final = {"appendix", "section", "sections", "theorem", "lemma", "listing", "table"}
_SPACE: Final = '<mspace width="0.2em"></mspace>'
_TIMES: Final = "<mo>\u2062</mo>"
_LONGEST: Final = 24
"""Of a formula on one line, in signs: a browser breaks no line inside of one."""


class _NoFormulaError(Exception):
    """What is read is prose from here on."""


@attrs.frozen
class _Token:
    text: str
    start: int
    end: int


def typeset(prose: str, *, lone: bool) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, each with whether it is MathML.

    Args:
        prose: One run of text, without markup.
        lone: Whether a letter or a Greek name by itself is a symbol, as in proofs.
    """
    tokens = [_Token(each[0], each.start(), each.end()) for each in _TOKEN.finditer(prose)]
    at = done = 0
    while at < len(tokens):
        reader = _Reader(prose, tokens, at, lone)
        try:
            parts = reader.formula()
        except _NoFormulaError:
            at += 1
            continue
        start, end = tokens[at].start, tokens[reader.at - 1].end
        yield prose[done:start], False
        yield _elements(parts), True
        at, done = reader.at, end
    yield prose[done:], False


def is_formula(text: str) -> bool:
    """Whether a text in backticks is a formula and no code: Python has no powers or norms so."""
    parts = [part for part in typeset(text, lone=False) if part[0]]
    return len(parts) == 1 and parts[0][1] and bool(re.search(r"\^|\||\w \w|\w \(", text))


def _elements(parts: list[str]) -> str:
    """One element if it is short; else a line may break before a relation, a plus or a minus."""
    whole = "".join(parts)
    if len(re.sub("<[^>]*>", "", whole)) <= _LONGEST:
        return f"<math>{whole}</math>"
    first, *others = parts
    # A sign that begins an element is taken for a prefix and set too close, if nothing is said.
    rest = (each.replace("<mo>", '<mo form="infix" lspace="0">', 1) for each in others)
    return " ".join(f"<math>{each}</math>" for each in (first, *rest))


def _split(name: str) -> tuple[str, str, str]:
    """A word, its primes and its index. Sphinx makes an apostrophe of each prime."""
    bare = name.rstrip("'\u2019")
    word, _, below = bare.partition("_")
    if word not in _NORMS and (numbered := re.fullmatch(r"([A-Za-z])(\d+)", word)):
        word, below = numbered.groups()
    return word, "\u2032" * (len(name) - len(bare)), below


def _letter(word: str, primes: str) -> str:
    shown = f"<mi>{_GREEK.get(word, word)}</mi>"
    if word in _NORMS:
        shown = _index("<mi>\u2113</mi>", f"<mn>{_NORMS[word]}</mn>")
    return f"<msup>{shown}<mo>{primes}</mo></msup>" if primes else shown


def _index(shown: str, below: str) -> str:
    return f"<msub>{shown}<mrow>{below}</mrow></msub>"


def _fence(opening: str, inner: str, closing: str) -> str:
    """Parentheses or bars around; a bar says of itself neither that it opens nor that it closes."""
    left, right = (_BARS.get(each, each) for each in (opening, closing))
    return f'<mo form="prefix">{left}</mo>{inner}<mo form="postfix">{right}</mo>'


class _Reader:
    """Reads a formula by recursive descent: terms, products, powers, atoms.

    Each method takes its tokens and returns MathML, or raises where prose begins. ``counts`` says
    whether what was read is more than a word. An ``operand`` may be any word, as in ``sum / rows``.
    """

    def __init__(self, prose: str, tokens: list[_Token], at: int, lone: bool) -> None:
        self.prose, self.tokens, self.at, self.lone = prose, tokens, at, lone
        self.depth = 0
        self.counts = False
        self.begins = at

    @property
    def next(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def spaced(self, at: int) -> bool:
        """Whether white space stands before a token."""
        return at > 0 and at < len(self.tokens) and self.tokens[at - 1].end < self.tokens[at].start

    def take(self) -> str:
        text = self.next
        self.at += 1
        return text

    def expect(self, text: str) -> None:
        if self.take() != text:
            raise _NoFormulaError

    def attempt(self, read: Callable[[], str]) -> str | None:
        """What is read, or None and the place before."""
        at, counts, depth = self.at, self.counts, self.depth
        try:
            return read()
        except _NoFormulaError:
            self.at, self.counts, self.depth = at, counts, depth
            return None

    def formula(self) -> list[str]:
        """The terms of a formula, each with the sign before it."""
        if self._is_inside_of_a_word():
            raise _NoFormulaError
        parts = self.terms()
        lone = self.at == self.begins + 1
        # "4 x 41 cells" is no product.
        if not self.counts or (lone and self._is_article()) or self.next[:1].isdigit():
            raise _NoFormulaError
        return parts

    def _is_inside_of_a_word(self) -> bool:
        """Whether the first token goes on with what stands before it, as in ``K-norm``."""
        start = self.tokens[self.at].start
        return start > 0 and bool(re.match(r"[\w'\-.@/=%\u2019]", self.prose[start - 1]))

    def _is_article(self) -> bool:
        """Whether a letter by itself is a word, or a number as in "appendix B"."""
        letter, before = self.tokens[self.begins].text, self.prose[: self.tokens[self.begins].start]
        ends = not before.strip() or before.rstrip()[-1] in '.:;?!("'
        return (
            letter == "a"
            or (letter in _ARTICLES and ends)
            or before.rstrip().rpartition(" ")[2] in _NUMBERED
        )

    def terms(self, *, operand: bool = False) -> list[str]:
        parts = [self.sign() + self.product(operand=operand)]
        while self.next in _TERMS and (part := self.attempt(self.term)) is not None:
            parts.append(part)
        return parts

    def sign(self) -> str:
        """A sign before the first term, which touches it."""
        apart = self.depth or self.at == 0 or self.spaced(self.at)
        if self.next in {"-", "+-"} and not self.spaced(self.at + 1) and apart:
            return f'<mo form="prefix">{_ADDED[self.take()]}</mo>'
        return ""

    def term(self) -> str:
        """A sign and what follows it; without spaces, as in T-1, in parentheses alone."""
        spaced = self.spaced(self.at)
        if spaced != self.spaced(self.at + 1) or not (spaced or self.depth):
            raise _NoFormulaError
        sign = self.take()
        self.counts = True
        minus = self.sign() if sign in _RELATIONS else ""
        return f"<mo>{_TERMS[sign]}</mo>{minus}{self.product(operand=True)}"

    def product(self, *, operand: bool = False) -> str:
        product = self.power(operand=operand)
        while (factor := self.attempt(self.factor)) is not None:
            product += factor
        return product

    def factor(self) -> str:
        """What follows in a product: divided by, times, or without a sign between."""
        sign, before = self.next, self.tokens[self.at - 1].text
        if sign in _DIVIDED:
            if self.spaced(self.at) != self.spaced(self.at + 1):
                raise _NoFormulaError
            self.at += 1
            last = self.power(operand=self.spaced(self.at))
            self.counts = True
            return f"<mo>{_DIVIDED[sign]}</mo>{last}"
        # "20 000" is one number, and "lemma 3" no product.
        if sign[:1].isdigit() or not (self.spaced(self.at) or (sign == "(" and self.depth)):
            raise _NoFormulaError
        # "a d^2" has an article or a factor; "a k" most often an article.
        raised = self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == "^"
        if self.at - 1 == self.begins and before in _ARTICLES and not raised:
            raise _NoFormulaError
        last = self.power()
        # "l2 (1, 2 or 3 of them)" is a remark.
        if sign in {"(", "["} and ("<mo>,</mo>" in last or not re.search("<mi>|<msqrt>", last)):
            raise _NoFormulaError
        self.counts = True
        word = any(each.isalpha() and len(each) > 1 for each in (before, sign))
        return f"{_SPACE if word else _TIMES}{last}"

    def power(self, *, operand: bool = False) -> str:
        base = self.atom(operand=operand)
        if self.touches("_"):
            base = _index(f"<mrow>{base}</mrow>", self.atom(operand=True))
        if self.touches("!"):
            base = f"<mrow>{base}<mo>!</mo></mrow>"
        if self.touches("'", "\u2019"):
            base = self.applied(f"<msup><mrow>{base}</mrow><mo>\u2032</mo></msup>")
        if not self.touches("^"):
            return base
        self.counts = True
        minus = '<mo form="prefix">\u2212</mo>' if self.touches("-") else ""
        raised = self.inside() if self.next == "(" else self.atom(operand=True)
        return f"<msup><mrow>{base}</mrow><mrow>{minus}{raised}</mrow></msup>"

    def touches(self, *signs: str) -> bool:
        """Takes a sign that follows without a space."""
        if self.next not in signs or self.spaced(self.at):
            return False
        self.at += 1
        return True

    def atom(self, *, operand: bool = False) -> str:
        text = self.next
        if text in _CLOSING:
            return self.group()
        if re.fullmatch(r"[\d.]*\d(e-?\d+)?", text):
            self.at += 1
            return f"<mn>{text}</mn>"
        if not text[:1].isalpha():
            raise _NoFormulaError
        return self.name(operand=operand)

    def name(self, *, operand: bool) -> str:
        word, primes, below = _split(self.take())
        begins, touching = self.at - 1 == self.begins, not self.spaced(self.at)
        symbol = len(word) == 1 or word in _GREEK or word in _NORMS
        shown = _letter(word, primes)
        if symbol and self.touches("_"):
            self.counts = True
            return self.applied(_index(shown, self.inside()))
        if word in _APPLIED and not (touching and self.next in {"(", "^"}):
            return f"{shown}{_SPACE}{self.power()}"
        if touching and self.next == "(" and not below and (symbol or word in _CALLED):
            called = self.attempt(lambda: self.call(word, shown))
            if called is not None:
                return called
        known = symbol or (not below and (operand or word in (_FIRST if begins else _FACTORS)))
        if (touching and not below and self._goes_on()) or not (known or self._before_operator()):
            raise _NoFormulaError
        lone = begins and ((self.lone and symbol) or word in _NORMS)
        self.counts = self.counts or bool(below) or lone
        if not below:
            return shown
        return self.applied(_index(shown, f"<mi>{_GREEK.get(below, below)}</mi>"))

    def _goes_on(self) -> bool:
        """Whether a word goes on after a sign: ``K-norm``, ``add/remove``, ``cube=True``."""
        if self.next[:1].isalnum():
            return True
        after = self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else ""
        divided = self.next == "/" and after.isdigit()
        if divided or (self.depth and self.next in _ADDED):
            return False
        joined = after[:1].isalnum() and not self.spaced(self.at + 1)
        return joined and self.next in {"-", "/", ".", "=", "'", "("}

    def _before_operator(self) -> bool:
        spaced = self.spaced(self.at) and self.spaced(self.at + 1)
        return self.next == "^" or (spaced and self.next in {"/", *_TERMS})

    def applied(self, shown: str) -> str:
        """A function with what it is applied to, if parentheses follow at once."""
        if self.next != "(" or self.spaced(self.at):
            return shown
        return f"{shown}<mo>\u2061</mo>{self.group(operand=True)}"

    def call(self, word: str, shown: str) -> str:
        self.counts = True
        if word == "sqrt":
            return f"<msqrt>{self.inside()}</msqrt>"
        return _fence("|", self.inside(), "|") if word == "abs" else self.applied(shown)

    def group(self, *, operand: bool = False) -> str:
        opening = self.next
        return _fence(opening, self.inside(operand=operand), _CLOSING[opening])

    def inside(self, *, operand: bool = True) -> str:
        """What stands in parentheses or bars, without them."""
        opening = self.take()
        if opening not in _CLOSING:
            raise _NoFormulaError
        self.depth += 1
        parts = ["".join(self.terms(operand=operand))]
        while self.next in _LISTED and opening not in _BARS:
            between = self.take()
            if between == "." and not self.spaced(self.at - 1):
                raise _NoFormulaError
            self.counts = True
            parts.append(f"<mo>{_LISTED[between]}</mo>{''.join(self.terms())}")
        self.depth -= 1
        self.expect(_CLOSING[opening])
        inner = "".join(parts)
        # (3, 4) may be a pair of Python, and [3, 4] is an interval.
        if opening == "(" and len(parts) > 1 and "<mi>" not in inner:
            raise _NoFormulaError
        self.counts = self.counts or opening in _BARS
        return inner
