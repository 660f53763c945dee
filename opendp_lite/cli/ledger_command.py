"""``opendp-lite ledger``: makes ledgers, shows them and checks them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, Final

import opendp_lite as dp
from opendp_lite.cli import flags, when_run
from opendp_lite.cli.output import Told, align_lines, rounded_down, rounded_up, short, writers


def _budget(arguments: argparse.Namespace) -> dp.measures.PrivacyBudget[Any]:
    choose = "Give one budget: --epsilon E, --epsilon E --delta D, --rho R or --mu M"
    typed = flags.typed_budget(arguments, choose)
    kind = next(iter(typed))
    budget: dp.measures.PrivacyBudget[Any] = getattr(dp, kind)(typed.pop(kind), **typed)
    return budget


def _create(arguments: argparse.Namespace) -> Told:
    ledger = when_run.LedgerFile.create(
        arguments.file,
        _budget(arguments),
        unit=arguments.unit,
        data=arguments.data,
        witness=arguments.witness,
        query_delta=arguments.query_delta,
    )
    return _tell(_summary(ledger.view()))


def _show(arguments: argparse.Namespace) -> Told:
    # The entries are printed, and no file holds them.
    outputs: Mapping[str, Callable[[str], bytes]] = {}
    prepare = writers(argparse.Namespace(**vars(arguments), output=None), outputs)
    view = when_run.LedgerFile.look(arguments.file)
    told = _tell(_summary(view), "", *_grid(view))
    if arguments.statement is None:
        return told
    return Told(told.text, prepare("", when_run.state_ledger(view)))


def _verify(arguments: argparse.Namespace) -> Told:
    view = when_run.LedgerFile.open(arguments.file).verify()
    told = {"whole": "every entry follows the one before, and the totals add up"}
    back = view.clock_set_back()
    if back:
        numbers = ", ".join(str(entry.number) for entry in back)
        told["clock"] = f"was set back before entry {numbers}; nothing is decided by time"
    return _tell({**told, **_summary(view)})


def _export(arguments: argparse.Namespace) -> Told:
    return Told(when_run.LedgerFile.look(arguments.file).export())


def _raise(arguments: argparse.Namespace) -> Told:
    ledger = when_run.LedgerFile.open(arguments.file)
    ledger.raise_budget(_budget(arguments), arguments.reason)
    return _tell(_summary(ledger.view()))


def _adopt(arguments: argparse.Namespace) -> Told:
    return _tell(_summary(when_run.LedgerFile.adopt(arguments.file, arguments.reason).view()))


def _tell(summary: dict[str, str], *more: str) -> Told:
    return Told("\n".join([*align_lines(summary), *more]))


def _summary(view: when_run.LedgerView) -> dict[str, str]:
    """What a ledger is for, and how far it has come."""
    measure, terms, head = view.measure, view.terms, view.head
    left = measure.typed(view.left)
    waiting = len(view.find_unfinished())
    found = {
        "ledger": terms.identity,
        "data": terms.data,
        "protected": terms.protects,
        "losses are for": view.neighbours,
        "budget": view.budget.words(),
        "spent": measure.words(head.reach(measure)),
        "price": "what a release adds to what is spent",
        "left": _join(left, lambda each: short(rounded_down(each))),
        "not finished": f"{waiting} of the releases; they count" if waiting else "",
        "witness": terms.witness,
        "head": f"entry {head.number}, {head.hash[:12]}",
        "trouble": view.trouble,
    }
    return {title: text for title, text in found.items() if text}


def _grid(view: when_run.LedgerView) -> list[str]:
    """A line for each entry; the end of a run stands in the line that paid for it."""
    paid = [each.number for each in view.entries if each.state is when_run.EntryState.RESERVED]
    releases = {number: str(place) for place, number in enumerate(paid, 1)}
    waiting = frozenset(entry.number for entry in view.find_unfinished())
    several = view.several_data  # Once: it looks at each entry.
    rows = [
        [
            releases.get(entry.number, ""),
            str(entry.number),
            entry.time[:19].replace("T", " "),
            _state(view, entry, waiting),
            *([entry.scope] if several else ()),
            _show_loss(view, entry.cost(view.measure)),
            _show_loss(view, entry.reach(view.measure)),
            entry.show_note(),
        ]
        for entry in view.entries
        if entry.state is not when_run.EntryState.RELEASED
    ]
    data = ["data"] if several else []
    titles = ["release", "entry", "time (UTC)", "state", *data, "price", "spent", "note"]
    return when_run.align([titles, *rows], {0, 1, titles.index("price"), titles.index("spent")})


def _state(view: when_run.LedgerView, entry: when_run.LedgerEntry, waiting: frozenset[int]) -> str:
    state: str = entry.state.value
    match entry.state:
        case when_run.EntryState.RESERVED:
            return "not finished" if entry.number in waiting else when_run.EntryState.RELEASED.value
        case when_run.EntryState.RAISED:
            return f"{state} to {_show_loss(view, entry.budget)}"
        case _:
            return state


def _show_loss(view: when_run.LedgerView, loss: Any) -> str:
    return _join(view.measure.show(loss), rounded_up)


def _join(numbers: Any, how: Callable[[Any], str]) -> str:
    """One number, or epsilon and delta."""
    parts = numbers if isinstance(numbers, tuple) else (numbers,)
    return " at ".join(map(how, parts))


_BUDGET: Final = {
    "the budget: one of these (a smaller number protects more)": "--epsilon --delta --rho --mu"
}
_Action = tuple[Callable[[argparse.Namespace], Told], str, str, Mapping[str, str]]
# What each does, its help, its flags beside the file, and those of a budget below a title.
_ACTIONS: Final[Mapping[str, _Action]] = {
    "create": (_create, "make a new ledger", "--unit --data --witness --query-delta", _BUDGET),
    "show": (_show, "what was spent, what is left, and each entry", "--statement --force", {}),
    "verify": (_verify, "check every entry, the file and its witness", "", {}),
    "export": (_export, "all entries as JSON, without the key of the ledger", "", {}),
    "raise": (_raise, "raise the budget, with a reason shown for ever", "--reason", _BUDGET),
    "adopt": (_adopt, "use a copied, moved or restored ledger, with a reason", "--reason", {}),
}


def add_ledger(commands: flags.Commands) -> None:
    """Adds the command to those of a parser."""
    whole = flags.add_command(commands, "ledger", {})
    actions = whole.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, (run, brief, own, budget) in _ACTIONS.items():
        said = f"{brief[0].upper()}{brief[1:]}."
        groups = {"the ledger": f"file {own}", **budget}
        action = flags.add_command(actions, name, groups, "ledger", help=brief, description=said)
        action.set_defaults(run=run)
