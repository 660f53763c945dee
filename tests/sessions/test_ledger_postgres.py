"""Ledgers on a PostgreSQL server: the laws of a file, what analysts may do, and what is said."""

import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import sleep

import attrs
import pytest

import opendp_lite as dp
from opendp_lite.base.errors import LedgerError
from opendp_lite.base.postgresql import connect
from opendp_lite.sessions.ledger import entries, file, postgres, tables
from opendp_lite.sessions.ledger.entries import EntryState, LedgerEntry
from opendp_lite.sessions.ledger.file import LedgerFile
from tests.combinators.test_forks import in_a_fork
from tests.races import race
from tests.sessions.ledgers import refused, spend
from tests.sessions.servers import GRANT, Server, make, run

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

TENTH = dp.count() >> dp.gaussian(rho=0.1)
AGES = [41.0, 38.0, 25.0] * 100


@pytest.fixture
def ledger(url) -> LedgerFile:
    """The ledger of rho = 1 of an analyst."""
    return make(url)


def test_a_team_spends_one_budget(url):
    """What docs/team.md shows."""
    mine = dp.Ledger.create(url("dana"), dp.rho(1), unit="row", data="survey 2026")
    refused(r"you have no right to; docs/team\.md", lambda: dp.Ledger.open(url("ann")))
    run(url("dana"), GRANT)
    ann, bob = (dp.Ledger.open(url(name)) for name in ("ann", "bob"))
    release = ann.session(AGES)(TENTH, note='table 3 é 😀 \\ "quoted"')
    assert bob.session(AGES)(TENTH, note="table 4").number == release.number + 1 == 2
    assert mine.left == ann.left == Fraction(8, 10)
    refused("other data", lambda: bob.session(AGES[1:]))
    with pytest.raises(dp.BudgetExceeded, match=r"0\.2 of 1 has been spent"):
        bob.session(AGES)(dp.count() >> dp.gaussian(rho=1))
    for use in (
        lambda: bob.raise_budget(dp.rho(2), "more"),
        lambda: dp.Ledger.adopt(url("bob"), "mine"),
    ):
        refused("needs the owner of the ledger, who alone may raise its budget or adopt it", use)
    mine.raise_budget(dp.rho(2), "the board agreed")
    assert (bob.left, len(mine.verify())) == (Fraction(18, 10), 7)
    with psycopg.connect(url("dana")) as connection:
        paid = "SELECT who, price, note FROM opendp_lite.entries WHERE state = 'reserved'"
        assert connection.execute(paid).fetchall() == [
            ("ann", "1/10", 'table 3 é 😀 \\ "quoted"'),
            ("bob", "1/10", "table 4"),
        ]


PRICES = (Fraction(1, 7), Fraction(1, 10), Fraction(0), Fraction(3, 11), Fraction(1, 13))


@pytest.mark.parametrize(
    ("budget", "delta"),
    [
        (dp.rho(1), None),
        (dp.mu(1), None),
        (dp.epsilon(1), None),
        (dp.epsilon(1, delta=1e-6), 1e-6),
        (dp.epsilon(1, delta=1e-6), None),
    ],
)
def test_the_server_adds_up_as_a_file_does(url, tmp_path, budget, delta):
    """Each pays until each refuses; so no rule of the server is stricter than that of a client."""
    server = make(url, budget, query_delta=delta)
    file = LedgerFile.create(
        tmp_path / "a", budget, unit="row", data="survey é 2026", query_delta=delta
    )

    def spend_all(ledger: LedgerFile) -> list[tuple[object, ...]]:
        measure = ledger.measure
        for place in range(15):
            price = PRICES[place % len(PRICES)]
            loss = price if not isinstance(measure.zero(), tuple) else measure.loss((price, 0))
            try:
                ledger.reserve(loss, asked=f"\x7f\u2028\t{place}")
            except dp.BudgetExceeded:
                continue
        ledger.reserve(measure.zero(), asked="{}")
        return [(e.state, e.price, e.total, e.budget, e.asked) for e in ledger.verify().entries]

    assert spend_all(server) == spend_all(file)
    assert 5 < server.head.number < 15
    assert LedgerFile.open(url("bob")).head == server.head


def test_the_rule_of_renyi_divergences_in_sql(url):
    """Losses on both sides of the edge, where several orders pay together."""
    ledger = make(url, dp.epsilon(1, delta=1e-6))
    measure, budget = ledger.measure, ledger.head.budget

    def loss(factor: Fraction) -> tuple[Fraction, ...]:
        return (budget[0] + 1, *budget[1:3], *(each * factor for each in budget[3:]))

    low, high = Fraction(1), Fraction(2)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if measure.within(loss(middle), budget) else (low, middle)
    assert low > 1 + Fraction(1, 100)
    ends = [low - Fraction(step, 10**30) for step in (0, 1, 10**6)]
    ends += [high + Fraction(step, 10**30) for step in (1, 10**6, 10**29)]
    with psycopg.connect(url("dana")) as connection:
        for factor in (Fraction(1, 2), Fraction(1), *ends):
            given = (" ".join(map(str, each)) for each in (loss(factor), budget))
            found = connection.execute(
                "SELECT opendp_lite.is_within(%s, %s, %s)", (*given, ledger.terms.measure)
            )
            assert found.fetchone() == (measure.within(loss(factor), budget),)
        # Nearer to the edge the server takes less than a client, and never more.
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if measure.within(loss(middle), budget) else (low, middle)
        near = [loss(high + Fraction(1, 10**digits)) for digits in range(40, 60)]
        one = (budget[0] + 1, *budget[1:3], *(each + Fraction(1, 10**50) for each in budget[3:]))
        for each in (*near, one, (*one[:4], *(2 * it for it in budget[4:]))):
            given = (" ".join(map(str, it)) for it in (each, budget))
            found = connection.execute(
                "SELECT opendp_lite.is_within(%s, %s, %s)", (*given, ledger.terms.measure)
            )
            assert found.fetchone() <= (measure.within(each, budget),)


def test_the_longest_fractions_that_the_server_takes_can_be_read(url):
    ledger = make(url)
    longest = f"1/1{'0' * 3999}"
    with psycopg.connect(url("ann"), autocommit=True) as connection:
        connection.execute(ADD, row_of(ledger, ledger.head, {"price": longest, "total": longest}))
        for price in (f"1/1{'0' * 4000}", f"1{'0' * 4000}"):
            with pytest.raises(psycopg.Error, match="no exact number"):
                connection.execute(
                    ADD, row_of(ledger, ledger.head, {"price": price, "total": price})
                )
    assert LedgerFile.open(url("bob")).spent == Fraction(longest)


def test_a_check_may_take_longer_than_a_transaction_may_stand_still(ledger, url, monkeypatch):
    spend(ledger, 2)
    check = tables.entries.check_chain

    def check_slowly(found, *given):
        listed = list(found)
        sleep(0.6 if len(listed) > 2 else 0)
        return check(listed, *given)

    monkeypatch.setattr(tables.entries, "check_chain", check_slowly)
    assert LedgerFile.open(url("ann"), wait=0.3).spent == Fraction(2, 100)
    assert LedgerFile.adopt(url("dana"), "a test", wait=0.3).spent == Fraction(2, 100)


@pytest.mark.parametrize("adopts", [False, True], ids=["pays", "adopts"])
def test_what_is_far_behind_is_checked_before_the_others_wait(adopts, url, monkeypatch, tmp_path):
    """By a handle and a witness that saw the first entries alone."""

    def sit_at(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))

    sit_at("ann")
    busy = make(url)
    sit_at("dana")
    behind = LedgerFile.open(url("dana"))
    spend(behind)
    sit_at("ann")
    spend(busy, 25)
    sit_at("dana")
    monkeypatch.setattr(file, "_PIECE", 7)
    read, held, right = list[int](), list[int](), postgres.PostgresDatabase.in_transaction
    of_row = LedgerEntry.of_row

    def count(row, measure) -> LedgerEntry:
        read.append(1)
        return of_row(row, measure)

    def in_transaction(storage, work, *, writing: bool, **options):
        before = len(read)
        found = right(storage, work, writing=writing, **options)
        held.append(len(read) - before if writing else 0)
        return found

    monkeypatch.setattr(LedgerEntry, "of_row", count)
    monkeypatch.setattr(postgres.PostgresDatabase, "in_transaction", in_transaction)
    if adopts:
        behind = LedgerFile.adopt(url("dana"), "a test")
    else:
        spend(behind)
    assert max(held) <= 2 * 7 < 50 < sum(read)
    assert behind.spent == Fraction(26 if adopts else 27, 100)
    told = {each.number for each in behind.witness.sightings().seen}
    assert told == set(range(1, behind.head.number + 1))
    assert len(behind.verify().entries) == behind.head.number


def test_what_a_team_saw_counts_after_a_second_failover(url, monkeypatch, tmp_path):
    """By the procedure of docs/team.md, where the ledger was adopted once before."""

    def sit_at(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))

    sit_at("dana")
    make(url)
    mine = LedgerFile.adopt(url("dana"), "an earlier failover")
    assert mine.witness is not None
    own = mine.witness.path
    for name, hundredths in (("bob", 1), ("ann", 25)):
        sit_at(name)
        LedgerFile.open(url(name)).reserve(Fraction(hundredths, 100), asked="{}")
    off, on = (f"ALTER TABLE opendp_lite.entries {it} TRIGGER USER" for it in ("DISABLE", "ENABLE"))
    run(url("dana"), off, "DELETE FROM opendp_lite.entries WHERE number > 2", on)
    with own.open("ab") as file:
        for name in ("ann", "bob"):
            file.write((tmp_path / name / "opendp_lite" / own.name).read_bytes())
    sit_at("dana")
    assert LedgerFile.adopt(url("dana"), "a second one").spent == Fraction(26, 100)
    for name in ("ann", "bob"):
        sit_at(name)
        spend(LedgerFile.open(url(name)))
    assert LedgerFile.open(url("bob")).spent == Fraction(28, 100)


def row_of(ledger: LedgerFile, head: LedgerEntry, changed: dict[str, object]) -> tuple[object, ...]:
    """A row that an honest client would add next, with some cells changed and its hash right."""
    cells = {
        **head.next(EntryState.RESERVED, ledger.measure, price=Fraction(1, 10)).as_dict(),
        **changed,
    }
    *rest, _ = cells.values()
    return (*rest, changed.get("hash", entries.digest_of(rest)))


ADD = f"INSERT INTO opendp_lite.entries VALUES ({', '.join(['%s'] * 17)})"


FORGED = (
    *(
        ({"price": price}, "no exact number")
        for price in ("-1/10", "NaN", "Infinity", "1e3", "0.5", " 1", "01", "9" * 9000, "1\n")
    ),
    ({"price": "2/20"}, "lowest terms"),
    ({"price": "1/1"}, "lowest terms"),
    ({"price": "1/10 0"}, "does not add up"),
    ({"price": ""}, "does not add up"),
    ({"total": "0"}, "does not add up"),
    ({"price": "0"}, "does not add up"),
    ({"price": "11/10", "total": "11/10"}, "not within the budget"),
    ({"budget": "2"}, "has another budget"),
    ({"number": 3}, "does not follow"),
    ({"number": 1}, "does not follow"),
    ({"previous": "00"}, "does not follow"),
    ({"unit": "person"}, "does not follow"),
    ({"machine": "00"}, "is of another server"),
    ({"place": "1 1"}, "is of another server"),
    ({"hash": "00"}, "the hash of another"),
    ({"state": "raised", "price": "0", "total": "0", "budget": "2"}, "needs the owner"),
    ({"state": "adopted"}, "needs the owner"),
    ({"state": "created"}, "needs the owner"),
    ({"state": "refund"}, "needs the owner"),
    ({"state": "admitted"}, "pays for nothing"),
    ({"state": "released", "price": "0", "total": "0"}, "ends no run"),
    ({"state": "released", "price": "0", "total": "0", "closes": 1}, "ends no run"),
    ({"closes": 1}, "ends no run"),
    ({"note": None}, "null"),
)


def test_what_an_honest_client_does_not_add_is_refused(ledger, url):
    head = ledger.head
    with psycopg.connect(url("ann"), autocommit=True) as connection:
        for changed, words in FORGED:
            with pytest.raises(psycopg.Error, match=words):
                connection.execute(ADD, row_of(ledger, head, changed))
        connection.execute(ADD, row_of(ledger, head, {}))
    assert ledger.verify().spent == Fraction(1, 10)


ATTACKS = (
    "UPDATE opendp_lite.entries SET price = '0'",
    "DELETE FROM opendp_lite.entries",
    "TRUNCATE opendp_lite.entries",
    "INSERT INTO opendp_lite.ledger SELECT * FROM opendp_lite.ledger",
    "INSERT INTO opendp_lite.secret VALUES ('00')",
    "UPDATE opendp_lite.ledger SET measure = 'MaxDivergence'",
    "DROP TABLE opendp_lite.entries",
    "ALTER TABLE opendp_lite.entries DISABLE TRIGGER checked",
    "SET session_replication_role = replica",
    "CREATE TABLE opendp_lite.mine (a text)",
    "CREATE OR REPLACE FUNCTION opendp_lite.is_within(text, text, text) RETURNS boolean "
    "LANGUAGE sql AS 'SELECT true'",
    "SELECT opendp_lite.read_loss('1')",
    "SELECT 1 FROM opendp_lite.ledger FOR UPDATE",
    "SET ROLE dana",
    "LOCK TABLE opendp_lite.entries IN EXCLUSIVE MODE",
    "LOCK TABLE opendp_lite.ledger IN ROW SHARE MODE",
    "CREATE TRIGGER mine BEFORE INSERT ON opendp_lite.entries EXECUTE FUNCTION "
    "suppress_redundant_updates_trigger()",
    "CREATE RULE mine AS ON INSERT TO opendp_lite.entries DO INSTEAD NOTHING",
    "INSERT INTO opendp_lite.entries SELECT * FROM opendp_lite.entries ON CONFLICT (number) "
    "DO UPDATE SET price = '0'",
)


def test_what_analysts_have_no_right_to(ledger, url):
    with psycopg.connect(url("ann")) as connection:
        for attack in ATTACKS:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(attack)
            connection.rollback()
    assert ledger.verify().spent == 0


SHADOWS = (
    "CREATE TEMP TABLE ledger AS SELECT 'MaxDivergence' measure",
    "CREATE TEMP TABLE entries (number bigint, state text, price text)",
    "CREATE FUNCTION public.sha256(text) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$",
    "CREATE FUNCTION public.is_within(text, text, text) RETURNS boolean LANGUAGE sql AS "
    "$$ SELECT true $$",
    "CREATE FUNCTION public.pg_has_role(name, name, text) RETURNS boolean LANGUAGE sql AS "
    "$$ SELECT true $$",
    "CREATE FUNCTION public.same(text, varchar) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$",
    "CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = varchar, FUNCTION = public.same)",
)


def test_objects_that_shadow_others_change_nothing(server, ledger, url):
    run(server.url("owner", "survey"), "GRANT CREATE ON SCHEMA public TO ann")
    with psycopg.connect(url("ann"), autocommit=True) as connection:
        for each in (*SHADOWS, "SET search_path = pg_temp, public, opendp_lite, pg_catalog"):
            connection.execute(each)
        for changed, words in (
            ({"price": "2", "total": "2"}, "not within"),
            ({"hash": ""}, "has the hash"),
            ({"state": "adopted"}, "needs the owner"),
        ):
            with pytest.raises(psycopg.Error, match=words):
                connection.execute(ADD, row_of(ledger, ledger.head, changed))
    run(url("dana"), "ALTER DATABASE survey SET search_path = public, pg_catalog")
    postgres.close_resting()
    assert LedgerFile.open(url("ann")).reserve(Fraction(1), asked="{}").number == 2
    run(url("dana"), "ALTER DATABASE survey RESET search_path")


def test_what_a_url_or_a_session_sets_stops_no_flush(ledger, url):
    off = "-c%20synchronous_commit%3Doff%20-c%20default_transaction_isolation%3Dserializable"
    with psycopg.connect(f"{url('ann')}&options={off}") as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
        connection.execute(ADD, row_of(ledger, ledger.head, {}))
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        connection.rollback()
    handle = LedgerFile.open(f"{url('ann')}&options={off}")
    states = handle.storage.in_transaction(
        lambda table: [table.run(f"SHOW {each}") for each in SHOWN], writing=True
    )
    assert states == [[("on",)], [("read committed",)]]


SHOWN = ("synchronous_commit", "transaction_isolation")


def test_a_session_that_holds_the_ledger(ledger, url):
    impatient = LedgerFile.open(url("ann"), wait=0.2)
    with psycopg.connect(url("bob")) as other:
        other.execute("SELECT opendp_lite.hold()")
        assert impatient.spent == 0
        refused("another session holds it for too long", lambda: spend(impatient))
    # A client that stands still, as a laptop does that sleeps, is ended by the server.
    refused(
        "this process stood still within a payment",
        lambda: impatient.storage.in_transaction(
            lambda table: (sleep(0.5), table.all(ledger.head)), writing=True
        ),
    )
    spend(impatient)
    assert ledger.spent == Fraction(1, 100)


def test_threads_and_forks_spend_the_budget_once(ledger):
    quarter = Fraction(1, 4)
    paid = race(6, lambda: ledger.reserve(quarter, asked="{}").number)
    assert sorted(map(str, paid)) == ["2", "3", "4", "5"]
    assert in_a_fork(lambda: ledger.spent) == "gave 1"
    assert in_a_fork(lambda: ledger.reserve(quarter, asked="{}")).startswith("BudgetExceeded: ")
    within = ledger.storage.in_transaction(
        lambda table: in_a_fork(lambda: table.run("SELECT 1")), writing=True
    )
    assert "the fork releases nothing" in within
    assert ledger.verify().spent == 1


def test_a_connection_that_is_lost(ledger, url, server, tmp_path, monkeypatch):
    commit, tenth = postgres._ServerTable.commit, Fraction(1, 10)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'"

    def lose(table, *, first: bool) -> None:
        monkeypatch.undo()
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        if first:
            run(server.url("owner", "survey"), end)
        commit(table)
        run(server.url("owner", "survey"), end)
        table.begin()

    for first in (True, False):
        monkeypatch.setattr(
            postgres._ServerTable, "commit", lambda table, first=first: lose(table, first=first)
        )
        with pytest.raises(LedgerError, match="nothing is released"):
            ledger.reserve(tenth, asked="{}")
        # Before the commit it costs nothing; after it the price is paid, and no data was read.
        assert ledger.spent == (0 if first else tenth)
    assert ledger.reserve(tenth, asked="{}").number == 3


def settle(server: Server, setting: str, value: str | None) -> None:
    """Changes a setting of the whole server, and waits until it holds."""
    change = (
        f"ALTER SYSTEM RESET {setting}"
        if value is None
        else f"ALTER SYSTEM SET {setting} = {value}"
    )
    with psycopg.connect(server.url("owner", "postgres"), autocommit=True) as connection:
        before = connection.execute(f"SHOW {setting}").fetchone()
        connection.execute(change)
        connection.execute("SELECT pg_reload_conf()")
        while connection.execute(f"SHOW {setting}").fetchone() == before:
            sleep(0.01)


def test_a_server_that_does_not_wait_for_its_disk_or_its_replica(ledger, url, server):
    # A session that hears no warnings would not hear of the replica.
    deaf = LedgerFile.open(f"{url('ann')}&options=-c%20client_min_messages%3Derror")
    settle(server, "fsync", "off")
    refused("fsync or full_page_writes is off", lambda: ledger.spent)
    settle(server, "fsync", None)
    settle(server, "synchronous_standby_names", "nobody")
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with ThreadPoolExecutor(1) as pool:
        paying = pool.submit(deaf.reserve, Fraction(1, 10), asked="{}")
        while not paying.done():
            run(server.url("owner", "postgres"), cancel)
            sleep(0.02)
        refused("did not say that the entry is on its disk", paying.result)
    settle(server, "synchronous_standby_names", "''")
    assert ledger.spent == Fraction(1, 10)


def forge(url: Callable[..., str], *statements: str) -> None:
    """The owner changes what no trigger lets anybody change."""
    run(
        url("dana"),
        "ALTER TABLE opendp_lite.entries DISABLE TRIGGER USER",
        *statements,
        "ALTER TABLE opendp_lite.entries ENABLE TRIGGER USER",
    )


def test_an_entry_that_somebody_changed(ledger, url):
    spend(ledger, 2)
    for accident in ("DELETE FROM opendp_lite.entries", "TRUNCATE opendp_lite.entries"):
        with pytest.raises(psycopg.Error, match="a ledger is only added to"):
            run(url("dana"), accident)
    forge(url, "UPDATE opendp_lite.entries SET note = 'x' WHERE number = 2")
    refused("changed by hand: entry 2", ledger.verify, lambda: LedgerFile.open(url("bob")))
    forge(url, "UPDATE opendp_lite.entries SET note = '' WHERE number = 2")
    run(url("dana"), "ALTER TABLE opendp_lite.entries DISABLE TRIGGER checked")
    refused("is damaged; restore a copy", ledger.verify)


def test_what_a_restored_copy_lacks_is_counted_by_the_witnesses(ledger, url, tmp_path, monkeypatch):
    spend(ledger, 2)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "bob"))
    bob = LedgerFile.open(url("bob"))
    spend(bob, 3)
    forge(url, "DELETE FROM opendp_lite.entries WHERE number > 5")
    words = "rolled back: entry 11, which this process saw, .* Have its owner bring back what the"
    refused(words, lambda: bob.spent)
    refused("its witness saw entry 11", lambda: LedgerFile.open(url("bob")))
    theirs = bob.witness.path.read_bytes()
    bob.witness.path.unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "dana"))
    mine = LedgerFile.open(url("dana"))
    with mine.witness.path.open("ab") as file:
        file.write(theirs)
    adopted = LedgerFile.adopt(url("dana"), "restored, with what bob saw")
    assert adopted.spent == Fraction(5, 100)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "bob"))
    spend(LedgerFile.open(url("bob")))
    assert adopted.spent == Fraction(6, 100)


def test_another_database_of_the_same_name(ledger, url, server):
    spend(ledger)
    postgres.close_resting()
    run(
        server.url("owner", "postgres"),
        "CREATE DATABASE copy TEMPLATE survey OWNER dana",
        "ALTER DATABASE survey RENAME TO original",
        "ALTER DATABASE copy RENAME TO survey",
    )
    words = "is a copy or came from another machine"
    refused(words, lambda: spend(ledger), lambda: LedgerFile.open(url("ann")))
    assert LedgerFile.look(url("ann")).trouble.startswith("the ledger 'postgresql://ann@")
    assert LedgerFile.adopt(url("dana"), "the original is gone").spent == Fraction(1, 100)
    spend(ledger)
    postgres.close_resting()
    run(server.url("owner", "postgres"), "DROP DATABASE original")


def test_a_replica_and_a_server_that_took_its_place(ledger, url, server):
    spend(ledger)
    server.stop("immediate")
    (server.folder / "data" / "standby.signal").touch()
    server.start()
    refused("replica", lambda: spend(ledger), lambda: ledger.spent)
    server.run("pg_ctl", "-w", "promote")
    refused("is a copy or came from another machine", lambda: spend(ledger))
    LedgerFile.adopt(url("dana"), "the replica took its place")
    spend(ledger)
    assert ledger.spent == Fraction(2, 100)


SECRET = "p%40ss%2Fw%3Ard"


@pytest.mark.parametrize(
    "typed",
    [
        "postgresql://ann:p@ss@nowhere.invalid/survey",
        "postgresql://ann:p/ss@nowhere.invalid/survey",
        "postgresql://ann:12?ss@nowhere.invalid/survey",
        "postgresql://ann@nowhere.invalid/survey?password=p-ss",
        "postgresql:ann:p-ss",
        "postgresql://ann:p-ss",
        "postgresql://ann:p-ss/survey",
        "postgresql+psycopg://ann:p-ss@nowhere.invalid/survey",
        " postgresql://ann:p-ss@nowhere.invalid/survey",
        "postgresql://ann@nowhere.invalid/survey?p%61ssword=p-ss",
        "host=nowhere.invalid dbname=survey user=ann password=p-ss",
        "mysql:ann:p-ss@nowhere.invalid",
        Path("postgresql://ann:p-ss@nowhere.invalid/survey"),
    ],
)
def test_a_url_that_may_hold_a_password_elsewhere_is_not_repeated(typed):
    with pytest.raises(dp.ParameterError, match=r"keep it in ~/\.pgpass") as problem:
        dp.Ledger.open(typed)
    assert "ss@" not in str(problem.value)
    assert "p-ss" not in str(problem.value)


def test_a_password_is_shown_nowhere(ledger, url, capsys):
    known = url("ann").replace("ann@", f"ann:{SECRET}@")
    handle = LedgerFile.open(known)
    told = repr(handle) + str(handle.path) + pickle.dumps(handle).decode("latin1")
    for wrong in (known.replace("/survey?", "/nowhere?"), known.replace("host=/", "host=/no")):
        with pytest.raises(LedgerError, match="cannot be reached") as problem:
            LedgerFile.open(wrong)
        told += str(problem.value) + str(problem.value.__context__ and problem.value.__cause__)
    assert "p@ss" not in told
    assert SECRET not in told
    assert pickle.loads(pickle.dumps(handle)).head == handle.head
    assert postgres._PASSWORDS[handle.path] == "p@ss/w:rd"


def test_another_password_is_tried_anew(ledger, url):
    """A connection that the right one opened would hide that this one is wrong."""
    postgres.PostgresDatabase.of(url("ann").replace("ann@", "ann:one@"), 1)
    LedgerFile.open(url("ann"))
    key = os.getpid(), postgres.PostgresDatabase.of(url("ann"), 1).path
    (resting,) = postgres._RESTING[key]
    postgres.PostgresDatabase.of(url("ann").replace("ann@", "ann:one@"), 1)
    assert not resting.closed
    postgres.PostgresDatabase.of(url("ann").replace("ann@", "ann:two@"), 1)
    assert resting.closed


@pytest.mark.parametrize("typed", ["postgresql://ann@/survey?service=team", "postgresql:///survey"])
def test_a_service_is_refused(typed, monkeypatch):
    """It names the server elsewhere: nobody here knows whether the line has to be encrypted."""
    monkeypatch.setenv("PGSERVICE", "team")
    with pytest.raises(dp.ParameterError, match="name the server in the URL"):
        dp.Ledger.open(typed)


def test_a_note_that_was_written_by_hand_moves_no_cursor(ledger):
    entry = attrs.evolve(ledger.head, note="fine\n\x1b[31m\u202eforged")
    assert entry.show_note() == r"fine\n\x1b[31m\u202eforged"


def test_no_ledger_no_driver_no_witness(url, server, monkeypatch, tmp_path):
    refused("there is no ledger in this database", lambda: LedgerFile.open(url("dana")))
    create = partial(LedgerFile.create, url("dana"), dp.rho(1), unit="row")
    refused("leave out witness", partial(create, witness=tmp_path / "witness"))
    refused("you have no right to", partial(LedgerFile.create, url("ann"), dp.rho(1), unit="row"))
    create()
    refused("there is a ledger in this database already", create)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    refused("set XDG_STATE_HOME to a folder", lambda: LedgerFile.open(url("dana")))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused(r'pip install "opendp_lite\[postgresql\]"', lambda: LedgerFile.open(url("dana")))


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql://ann@db.example.org/survey", "require"),
        ("postgresql://ann@10.1.2.3/survey", "require"),
        ("postgresql://ann@/survey?hostaddr=10.1.2.3", "require"),
        ("postgresql://ann@localhost,db.example.org/survey", "require"),
        ("postgresql://ann@db.example.org/survey?sslmode=verify-full", None),
        ("postgresql://ann@127.0.0.1/survey", None),
        ("postgresql://ann@[::1]:5432,127.0.0.1:5433/survey", None),
        ("postgresql://ann@/survey", None),
    ],
)
def test_another_machine_is_asked_in_secret(url, mode, monkeypatch):
    asked: dict[str, object] = {}
    monkeypatch.setattr(psycopg, "connect", lambda *_, **settings: asked.update(settings))
    monkeypatch.delenv("PGHOST", raising=False)
    monkeypatch.delenv("PGSSLMODE", raising=False)
    connect(psycopg, url, 1)
    assert asked["sslmode"] == mode
