"""What the tables of plans promise whoever asks, on both databases: no verb of a review is used here."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from offsetwise.errors import StoreError, StoreRefusedError
from offsetwise.store.audit import FIRST, AuditFilter, Record
from offsetwise.store.review_rows import State, Who
from offsetwise.store.reviews import Change, Reviews
from offsetwise.store.store import Store, open_store
from tests.store.postgres import Server

ADA = Who(issuer="https://login.example.org", subject="ada", name="Ada", address="ada@example.org")
EVE = Who(issuer="https://login.example.org", subject="eve", name="Eve")
RITA = Who(issuer="https://login.example.org", subject="rita", name="Rita", address="rita@example.org")
DIGEST = "ab" * 32
HOSTILE = "<img src=x onerror=alert(1)> =cmd() \u202e [x](javascript:1) half a pair \udc80 zero \x00 'quote' \\x00"

Sql = Callable[[str], None]


@pytest.fixture
def sql(url: str, request: pytest.FixtureRequest) -> Sql:
    """Run a statement as somebody with the database's own tools does."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")

        def run(statement: str) -> None:
            connection = sqlite3.connect(path)
            try:
                with connection:
                    connection.executescript(statement)
            finally:
                connection.close()

        return run
    server: Server = request.getfixturevalue("server")
    return lambda statement: server.run_sql(statement, database=url.rpartition("/")[2])


def record(action: str = "save", **changes: object) -> Record:
    values = {"at_ms": 7, "issuer": ADA.issuer, "subject": ADA.subject, "action": action, "result": "done"}
    return Record(**{**values, "details": {"why": "because"}, **changes})  # type: ignore[arg-type]


def drafted(reviews: Reviews, moves: str = "orders", *, digest: str = DIGEST, by: Who = ADA) -> int:
    with reviews.changing("Saving") as change:
        plan = change.add_plan(migration="m", moves=moves, at_ms=1)
        change.add_version(plan, 1, digest=digest, content=b"{}", facts="{}", by=by, at_ms=1)
        change.add_editor(plan, 1, by)
        change.move(plan, State.DRAFT, number=1, at_ms=1)
        change.record(record())
    return plan


def submitted(reviews: Reviews, moves: str = "orders", *, digest: str = DIGEST) -> int:
    plan = drafted(reviews, moves, digest=digest)
    with reviews.changing("Submitting") as change:
        change.add_submission(change.version(plan, 1).id, 1, by=ADA, at_ms=2, expires_at_ms=9)
        change.move(plan, State.SUBMITTED, number=1, at_ms=2)
        change.record(record("submit"))
    return plan


def decide(change: Change, plan: int, by: Who, *, digest: str = DIGEST, separation: bool = True) -> None:
    submission = change.submission(change.version(plan, 1).id)
    assert submission is not None
    change.add_decision(
        plan,
        submission.id,
        digest=digest,
        by=by,
        verdict="approved",
        at_ms=3,
        expires_at_ms=9,
        nonce=f"{by.subject:0<32}",
        envelope=b"signed",
        separation=separation,
    )
    change.record(record("approve"))


def test_what_is_kept_comes_back_with_every_byte_of_a_hostile_name(store: Store) -> None:
    hostile = Who(issuer=HOSTILE, subject=HOSTILE, name=HOSTILE, address=HOSTILE)
    reviews = store.reviews
    plan = drafted(reviews, HOSTILE, by=hostile)
    with reviews.changing("Remarking") as change:
        change.add_comment(plan, 1, by=hostile, at_ms=5, body=HOSTILE)
        change.record(record("comment", issuer=HOSTILE, subject=HOSTILE, details={"why": HOSTILE}))

    with reviews.reading("Reading") as look:
        assert look.open_plan(HOSTILE) == look.plan(plan)
        assert look.editors(plan)[0].address == HOSTILE
        assert look.comments(plan)[0].body == HOSTILE
        assert look.comments(plan)[0].by == Who(issuer=HOSTILE, subject=HOSTILE, name=HOSTILE)
        (found,) = look.audit(AuditFilter(subject=HOSTILE, action="comment"), most=10)
        assert found.record.details == {"why": HOSTILE}
        assert look.check_chain().intact


@pytest.mark.parametrize(
    "by",
    [
        ADA,
        Who(issuer="https://other.example.net", subject="42", name="Nobody", address="ada@example.org"),
        replace(ADA, subject=f"{ADA.subject}\u034f", address=None),
        replace(ADA, subject=ADA.subject.replace("a", "а"), address=None),
    ],
    ids=[
        "the author",
        "the author's mail address behind another issuer",
        "the author with what nobody sees",
        "a look-alike of the author",
    ],
)
def test_the_author_cannot_decide_even_by_a_direct_call_of_the_store(store: Store, by: Who) -> None:
    plan = submitted(store.reviews)

    with (
        pytest.raises(StoreRefusedError, match="nobody decides about a plan that they wrote or edited"),
        store.reviews.changing("Deciding") as change,
    ):
        decide(change, plan, by)

    with store.reviews.reading("Reading") as look:
        assert look.decisions(plan) == ()
        assert look.check_chain().rows == 2, "the audit log's row went with the refused change"


def test_an_editor_of_an_earlier_version_cannot_decide_by_a_direct_call_of_the_store(store: Store) -> None:
    plan = submitted(store.reviews)
    with store.reviews.changing("Editing") as change:
        change.add_editor(plan, 2, EVE)
        change.record(record())

    with pytest.raises(StoreRefusedError, match="wrote or edited"), store.reviews.changing("Deciding") as change:
        decide(change, plan, EVE)


def test_two_who_look_alike_are_counted_once_even_by_a_direct_call_of_the_store(store: Store) -> None:
    plan = submitted(store.reviews)
    with store.reviews.changing("Deciding") as change:
        decide(change, plan, RITA)

    twin = Who(issuer="https://other.example.net", subject="rıta", name="Rita")
    with pytest.raises(StoreError), store.reviews.changing("Deciding") as change:
        decide(change, plan, twin)
    with store.reviews.reading("Reading") as look:
        assert [each.by.subject for each in look.decisions(plan)] == ["rita"]


def test_only_the_newest_version_of_a_submitted_plan_is_decided_about(store: Store) -> None:
    plan = submitted(store.reviews)
    with pytest.raises(StoreRefusedError, match="newest version"), store.reviews.changing("Deciding") as change:
        decide(change, plan, RITA, digest="cd" * 32)

    with store.reviews.changing("Editing") as change:
        change.add_version(plan, 2, digest="cd" * 32, content=b"{ }", facts="{}", by=ADA, at_ms=4)
        change.move(plan, State.DRAFT, number=2, at_ms=4)
        change.record(record())
    with pytest.raises(StoreRefusedError, match="newest version"), store.reviews.changing("Deciding") as change:
        decide(change, plan, RITA)


def test_the_servers_switch_is_written_with_the_decision(store: Store) -> None:
    plan = submitted(store.reviews)
    with store.reviews.changing("Deciding") as change:
        decide(change, plan, ADA, separation=False)

    with store.reviews.reading("Reading") as look:
        (found,) = look.decisions(plan)
        assert not found.separation


def test_there_is_one_open_plan_for_a_checkpoint(store: Store) -> None:
    plan = drafted(store.reviews)
    with pytest.raises(StoreError, match=r"UNIQUE|unique"):
        drafted(store.reviews, digest="cd" * 32)

    with store.reviews.changing("Withdrawing") as change:
        change.move(plan, State.WITHDRAWN, number=1, at_ms=2)
        change.record(record("withdraw"))
    assert drafted(store.reviews, digest="ef" * 32) != plan


TABLES = (
    "review_audit",
    "review_version",
    "review_editor",
    "review_submission",
    "review_decision",
    "review_comment",
    "review_file",
    "review_version_file",
    "review_receipt",
)


@pytest.mark.parametrize("table", TABLES)
def test_nothing_that_was_added_is_changed_or_removed_not_even_with_the_databases_own_tools(
    store: Store, url: str, sql: Sql, table: str
) -> None:
    everything(store)
    column = {"review_file": "body", "review_version_file": "kind"}.get(table, "audit_seq")
    column = "action" if table == "review_audit" else column
    tries = [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"]
    tries += [] if url.startswith("sqlite") else [f"TRUNCATE {table} CASCADE"]
    for statement in tries:
        with pytest.raises((sqlite3.Error, psycopg.Error), match="never changed or removed"):
            sql(statement)

    with store.reviews.reading("Reading") as look:
        assert look.check_chain().intact


def test_a_row_of_the_audit_log_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"  # PostgreSQL has no such statement
    with open_store(f"sqlite:///{path}") as store:
        drafted(store.reviews)
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.Error, match="never changed or removed"):
        connection.execute("INSERT OR REPLACE INTO review_audit SELECT * FROM review_audit WHERE seq = 1")
    connection.close()


def everything(store: Store) -> int:
    """Put a row into every table."""
    reviews = store.reviews
    plan = submitted(reviews)
    with reviews.changing("Deciding") as change:
        decide(change, plan, RITA)
    with reviews.changing("Remarking") as change:
        version = change.version(plan, 1)
        change.add_comment(plan, 1, by=ADA, at_ms=5, body="Why 950?")
        change.add_file(version.id, "comparison", b"{}")
        change.add_receipt(plan, digest=DIGEST, content=b"{}", by=ADA, at_ms=6)
        change.record(record("comment"))
    return plan


def broken(store: Store) -> str:
    with store.reviews.reading("Checking") as look:
        chain = look.check_chain()
    assert not chain.intact
    assert chain.broken is not None
    return chain.broken


BREAKS = {
    "a body edited": (
        "UPDATE review_audit SET body = replace(body, 'because', 'why not') WHERE seq = 2",
        "Row 2 was changed",
    ),
    "a column edited": ("UPDATE review_audit SET subject = 'eve' WHERE seq = 3", "Row 3 was changed: its columns"),
    "a column in other letters": (
        "UPDATE review_audit SET subject = 'äda' WHERE seq = 3",
        "Row 3 was changed: its columns",
    ),
    "a column cut off": (
        "UPDATE review_audit SET subject = '" + chr(92) + "x' WHERE seq = 3",
        "Row 3 was changed: its columns",
    ),
    "a row removed": ("DELETE FROM review_audit WHERE seq = 2", "Row 2 is missing"),
    "the last row removed": ("DELETE FROM review_audit WHERE seq = 4", "Row 4 is missing"),
    "a body that is no JSON": ("UPDATE review_audit SET body = 'x' WHERE seq = 1", "Row 1 was changed"),
    "a hash edited": (f"UPDATE review_audit SET hash = '{'0' * 63}1' WHERE seq = 1", "Row 1 was changed"),
    "another row before": (f"UPDATE review_audit SET previous = '{'1' * 64}' WHERE seq = 2", "Row 2 does not follow"),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_chain_that_was_broken_on_purpose_is_found_out(store: Store, url: str, sql: Sql, how: str) -> None:
    everything(store)
    statement, told = BREAKS[how]
    if url.startswith("sqlite"):
        sql("DROP TRIGGER review_audit_no_update; DROP TRIGGER review_audit_no_delete;")
        sql(statement)
    else:
        sql("ALTER TABLE review_audit DISABLE TRIGGER ALL")
        sql(f"SET session_replication_role = replica; {statement}")

    assert broken(store).startswith(told)


def test_a_whole_chain_names_its_last_hash_which_changes_with_every_row(store: Store) -> None:
    with store.reviews.reading("Checking") as look:
        empty = look.check_chain()
    assert (empty.rows, empty.head, empty.intact) == (0, FIRST, True)
    heads = set()
    for number in range(5):
        with store.reviews.changing("Refusing") as change:
            change.record(record(at_ms=number))
        with store.reviews.reading("Checking") as look:
            heads.add(look.check_chain().head)
    assert len(heads) == 5


def test_a_change_without_its_row_of_the_audit_log_is_not_made(store: Store) -> None:
    with pytest.raises(AssertionError, match="without a row"), store.reviews.changing("Forgetting") as change:
        change.add_plan(migration="m", moves="orders", at_ms=1)

    with store.reviews.reading("Reading") as look:
        assert look.plans() == ()


def test_the_audit_log_is_read_in_pages_and_by_what_is_asked_for(store: Store) -> None:
    for number in range(7):
        with store.reviews.changing("Refusing") as change:
            who = ADA if number % 2 else RITA
            change.record(record(at_ms=number, subject=who.subject, result="refused", plan=number % 3))
    with store.reviews.reading("Reading") as look:
        first = look.audit(AuditFilter(), most=4)
        rest = look.audit(AuditFilter(before_seq=first[-1].seq), most=4)
        assert [each.seq for each in (*first, *rest)] == [7, 6, 5, 4, 3, 2, 1]
        assert [each.seq for each in look.audit(AuditFilter(subject="ada"), most=9)] == [6, 4, 2]
        assert [each.seq for each in look.audit(AuditFilter(plan=0, until_ms=6), most=9)] == [4, 1]
        assert [each.seq for each in look.audit(AuditFilter(since_ms=5, result="refused"), most=9)] == [7, 6]
        assert look.audit(AuditFilter(result="done"), most=9) == ()


def test_a_store_of_the_release_before_is_brought_up_to_date_and_keeps_its_samples(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store:
        drafted(store.reviews)
    connection = sqlite3.connect(path)
    with connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for name in (each for each in tables if each.startswith("review_")):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("UPDATE offsetwise_revision SET version_num = 'r0001'")
    connection.close()

    with open_store(f"sqlite:///{path}") as store:
        assert drafted(store.reviews) == 1
