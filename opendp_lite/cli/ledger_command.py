"""``opendp-lite ledger``: makes ledgers, shows them and checks them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import opendp_lite as dp
from opendp_lite.cli import when_run
from opendp_lite.cli.aligned import aligned, table
from opendp_lite.cli.numbers import number, rounded_down, rounded_up, short
from opendp_lite.cli.told import Told

if TYPE_CHECKING:
    from opendp_lite.measures.privacy_budget import PrivacyBudget
    from opendp_lite.sessions.ledger_entry import LedgerEntry
    from opendp_lite.sessions.ledger_view import LedgerView

_DESCRIPTION: Final = """\
Keeps one privacy budget over many releases in a file. Each release pays before it reads any data,
and a payment is never given back. For example:

  opendp-lite ledger create survey.ledger --rho 1 --unit person --data "survey 2026"
  opendp-lite mean survey.csv --column age --bounds 0 100 --rho 0.1 --ledger survey.ledger
  opendp-lite ledger show survey.ledger"""

_NOT_FINISHED: Final = "not finished"
_HASH: Final = 12
_SECONDS: Final = 19

Action = Callable[[argparse.Namespace], Told]


def add_ledger(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds the command to those of a parser."""
    parser = commands.add_parser(
        "ledger",
        help="one budget over many releases, in a file",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = _action(actions, "create", _create, "make a new ledger")
    _add_budget(create)
    create.add_argument(
        "--unit", metavar="WORDS", required=True, help="whom the budget protects, such as person"
    )
    create.add_argument(
        "--data", metavar="WORDS", default="", help="the name of the data, for statements"
    )
    create.add_argument(
        "--witness",
        metavar="FILE",
        help="a file elsewhere that remembers each entry, to tell when the ledger is rolled back; "
        "best on another disk",
    )
    _action(actions, "show", _show, "what was spent, what is left, and each entry")
    _action(actions, "verify", _verify, "check every entry, the file and its witness")
    _action(actions, "export", _export, "all entries as JSON, without the key of the ledger")
    raising = _action(actions, "raise", _raise, "raise the budget, with a reason shown for ever")
    _add_budget(raising)
    _add_reason(raising)
    adopting = _action(
        actions, "adopt", _adopt, "use a copied, moved or restored ledger, with a reason"
    )
    _add_reason(adopting)


def _action(
    actions: argparse._SubParsersAction[Any], name: str, run: Action, brief: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=brief, description=f"{brief[0].upper()}{brief[1:]}.", allow_abbrev=False
    )
    parser.add_argument("file", metavar="FILE", help="the ledger, on a disk of this machine")
    parser.set_defaults(run=run, parser=parser)
    return parser


def _add_budget(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_argument_group("the budget: one of these (a smaller number protects more)")
    typed = partial(budget.add_argument, type=number)
    typed("--epsilon", metavar="E", help="pure differential privacy; with --delta approximate")
    typed("--delta", metavar="D", help="a small probability, say 1e-6")
    typed("--rho", metavar="R", help="zero-concentrated differential privacy")
    typed("--mu", metavar="M", help="Gaussian differential privacy")


def _add_reason(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reason", metavar="WORDS", required=True, help="why; the ledger shows it for ever"
    )


def _budget(arguments: argparse.Namespace) -> PrivacyBudget[Any]:
    epsilon, delta, rho, mu = arguments.epsilon, arguments.delta, arguments.rho, arguments.mu
    given = {"--epsilon": epsilon, "--rho": rho, "--mu": mu}
    typed = [name for name, value in given.items() if value is not None]
    if len(typed) != 1:
        found = typed or ["--delta alone" if delta is not None else "none"]
        raise dp.ParameterError(
            "give one budget: --epsilon E, --epsilon E --delta D, --rho R or --mu M; "
            f"got {' and '.join(found)}"
        )
    if delta is not None and epsilon is None:
        raise dp.ParameterError(f"--delta goes with --epsilon, not with {typed[0]}")
    if epsilon is not None:
        return dp.epsilon(epsilon) if delta is None else dp.epsilon(epsilon, delta=delta)
    return dp.rho(rho) if mu is None else dp.mu(mu)


def _create(arguments: argparse.Namespace) -> Told:
    ledger = when_run.LedgerFile.create(
        arguments.file,
        _budget(arguments),
        unit=arguments.unit,
        data=arguments.data,
        witness=arguments.witness,
    )
    return _told(_summary(ledger.view()))


def _show(arguments: argparse.Namespace) -> Told:
    view = when_run.LedgerFile.look(arguments.file)
    return _told(_summary(view), "", *_grid(view))


def _verify(arguments: argparse.Namespace) -> Told:
    view = when_run.LedgerFile.open(arguments.file).verify()
    told = {"whole": "every entry follows the one before, and the totals add up"}
    back = view.clock_set_back()
    if back:
        numbers = ", ".join(str(entry.number) for entry in back)
        told["clock"] = f"was set back before entry {numbers}; nothing is decided by time"
    return _told({**told, **_summary(view)})


def _export(arguments: argparse.Namespace) -> Told:
    return Told(when_run.LedgerFile.look(arguments.file).export())


def _raise(arguments: argparse.Namespace) -> Told:
    ledger = when_run.LedgerFile.open(arguments.file)
    ledger.raise_budget(_budget(arguments), arguments.reason)
    return _told(_summary(ledger.view()))


def _adopt(arguments: argparse.Namespace) -> Told:
    return _told(_summary(when_run.LedgerFile.adopt(arguments.file, arguments.reason).view()))


def _told(summary: dict[str, str], *more: str) -> Told:
    return Told("\n".join([*aligned(summary), *more]))


def _summary(view: LedgerView) -> dict[str, str]:
    """What a ledger is for, and how far it has come."""
    measure, terms, head = view.measure, view.terms, view.head
    left = measure.typed(view.left)
    waiting = len(view.unfinished())
    found = {
        "ledger": terms.identity,
        "data": terms.data,
        "protected": f"any one {terms.unit}",
        "budget": view.budget.words(),
        "spent": measure.words(view.spent),
        "left": _joined(left, lambda each: short(rounded_down(each))),
        "not finished": f"{waiting} of the releases; they count" if waiting else "",
        "witness": terms.witness,
        "head": f"entry {head.number}, {head.hash[:_HASH]}",
        "trouble": view.trouble,
    }
    return {title: text for title, text in found.items() if text}


def _grid(view: LedgerView) -> list[str]:
    """A line for each entry; the end of a run stands in the line that paid for it."""
    waiting = frozenset(entry.number for entry in view.unfinished())
    rows = [
        [
            str(entry.number),
            entry.time[:_SECONDS].replace("T", " "),
            _state(view, entry, waiting),
            _shown(view, entry.price),
            _shown(view, entry.total),
            entry.note,
        ]
        for entry in view.entries
        if entry.state is not when_run.EntryState.RELEASED
    ]
    return table(["entry", "time (UTC)", "state", "price", "spent", "note"], rows, {0, 3, 4})


def _state(view: LedgerView, entry: LedgerEntry, waiting: frozenset[int]) -> str:
    state: str = entry.state.value
    match entry.state:
        case when_run.EntryState.RESERVED:
            return _NOT_FINISHED if entry.number in waiting else when_run.EntryState.RELEASED.value
        case when_run.EntryState.RAISED:
            return f"{state} to {_shown(view, entry.budget)}"
        case _:
            return state


def _shown(view: LedgerView, loss: Any) -> str:
    return _joined(view.measure.show(loss), rounded_up)


def _joined(numbers: Any, how: Callable[[Any], str]) -> str:
    """One number, or epsilon and delta."""
    parts = numbers if isinstance(numbers, tuple) else (numbers,)
    return " at ".join(map(how, parts))
