"""Formulas in prose are typeset, and prose is not."""

from xml.etree import ElementTree

import pytest
from _ext.typesetting import is_formula, typeset

SIGNS = {"msup": "^", "msub": "_"}
FORMULAS = {
    "rho = l2^2 / (2 scale^2)": "\u03c1=\u2113_{2}^{2}/(2scale^{2})",
    "the density exp(-s |rank - q n|) of a choice": "exp(\u2212s|rank\u2212qn|)",
    "at most 2 r sqrt(d / (2 rho)) / n": "2r\u221a{d/(2\u03c1)}/n",
    "with I_(m+1)(z) as above": "I_{m+1}(z)",
    "and w^(-m) I_m(w) / 2 too": "w^{\u2212m}I_{m}(w)/2",
    "L + R m1 / (m1 + m2)": "L+Rm_{1}/(m_{1}+m_{2})",
    "it is g'(1/2) (u^2 - 1/4)": "g\u2032(1/2)(u^{2}\u22121/4)",
    "times (log g)'(z^2)": "(logg)\u2032(z^{2})",
    "rows with ||x / r||_2 <= 1": "\u2016x/r\u2016_{2}\u22641",
    "min((1 - p(1))^k, (1 - p(c))^(k / c))": "min((1\u2212p(1))^{k},(1\u2212p(c))^{k/c})",
    "P(x) = a p^|x|": "P(x)=ap^{|x|}",
    "lower + (upper - lower) m": "lower+(upper\u2212lower)m",
    "(x - lower, upper - x)": "(x\u2212lower,upper\u2212x)",
    "+-2^(j/2)": "\u00b12^{j/2}",
    "no x in [0, 1]": "[0,1]",
    "c^d exp(-c) / d! for d": "c^{d}exp(\u2212c)/d!",
    "log(1 + rate (e^epsilon - 1))": "log(1+rate(e^{\u03b5}\u22121))",
    "k of \u03b5\u2019 is f\u2019(q)": "f\u2032(q)",
}
PROSE = (
    "20 000 rows, 4 x 41 cells, lemma 3.4 and section 2 (1 or 2)",
    "a K-norm of add/remove with cube=True, or (k) and (3, 4)",
    "Dong, Roth, Su 2022, theorem 1 (see there), and/or 2-D",
    "the loss epsilon, a scale 1 of rows, e.g. Renyi's",
    "a sum of the c and dp.mean(0, 9); d.p. of one",
)


def shown(mathml: str) -> str:
    """MathML in one line, with signs for roots, powers and indices."""
    return "".join(_shown(each) for each in ElementTree.fromstring(f"<all>{mathml}</all>"))


def _shown(element: ElementTree.Element) -> str:
    parts = [_shown(each) for each in element]
    if element.tag in SIGNS:
        base, other = parts
        return base + other if other == "\u2032" else f"{base}{SIGNS[element.tag]}{{{other}}}"
    text = "".join(parts) or (element.text or "").strip("\u2061\u2062")
    return f"\u221a{{{text}}}" if element.tag == "msqrt" else text


@pytest.mark.parametrize("prose", FORMULAS)
def test_a_formula_is_typeset(prose):
    assert [shown(part) for part, mathml in typeset(prose, lone=False) if mathml] == [
        FORMULAS[prose]
    ]


@pytest.mark.parametrize("prose", PROSE)
def test_prose_stays(prose):
    assert list(typeset(prose, lone=False)) == [(prose, False)]


def test_letters_alone_are_symbols_in_proofs():
    prose = "A row of epsilon, and a key of appendix B: let k be in A."
    assert [shown(part) for part, mathml in typeset(prose, lone=True) if mathml] == [
        "\u03b5",
        "k",
        "A",
    ]


def test_code_in_backticks_is_no_formula():
    assert is_formula("exp(-s |rank - q n|)")
    assert not any(map(is_formula, ("rho=1", "U - L", "int | str", "dp.mean(0, 9)", "x[0] x[1]")))
