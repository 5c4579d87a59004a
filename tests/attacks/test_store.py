"""Attacks on the store: by its tables, its address, its rights, and by two who write at once."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from offsetwise.errors import ConfigError, StoreError
from offsetwise.review.answers import Approved
from offsetwise.review.exports import ExportKind
from offsetwise.review.sheet import SheetMark
from offsetwise.store.address import address
from offsetwise.store.audit import AuditFilter
from offsetwise.store.store import Store, open_store
from tests.attacks.rows import Verdict, attack
from tests.commands import call
from tests.docs_pages import section
from tests.lag_samples import BEGIN_MS, sample
from tests.review.conftest import anywhere
from tests.review.people import ADA, RITA, Scene
from tests.store.conftest import server, store, url
from tests.store.postgres import Server
from tests.store.test_reviews import DIGEST, HOSTILE, Sql, decide, drafted, record, sql, submitted
from tests.store.test_reviews import RITA as REVIEWER
from tests.store.test_sets import add_set
from tests.with_cases import with_cases

__all__ = ["anywhere", "server", "sql", "store", "url"]

REFUSED = (sqlite3.IntegrityError, psycopg.errors.RaiseException)
TRIGGERS = ("no_update", "no_delete", "no_replace", "added_to")
NEVER = r"never (changed or removed|removed)"
SECRET = "hunter2"
LATER_MS = BEGIN_MS + 400 * 24 * 3_600_000


def dropped(sql: Sql, url: str, table: str) -> None:
    """Drop the triggers of a table, as whoever owns the database can."""
    if url.startswith("sqlite"):
        sql("".join(f"DROP TRIGGER IF EXISTS {table}_{trigger};" for trigger in TRIGGERS))
    else:
        sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")


@attack(
    "A25",
    "rows of the audit log, versions and editors changed, removed and replaced from another connection",
    before=Verdict.HELD,
    without="the triggers of `r0002_reviews`",
)
def test_rows_that_are_only_added_to_are_not_changed_by_another_connection(store: Store, sql: Sql, url: str) -> None:
    plan = drafted(store.reviews)
    statements = [
        *(f"DELETE FROM {table}" for table in ("review_audit", "review_version", "review_editor")),
        "UPDATE review_audit SET subject = 'eve'",
        "UPDATE review_version SET content = NULL",
        "UPDATE review_editor SET subject = 'eve'",
        f"DELETE FROM review_plan WHERE id = {plan}",
    ]
    if url.startswith("sqlite"):
        statements.append("INSERT OR REPLACE INTO review_audit SELECT * FROM review_audit")

    for statement in statements:
        with pytest.raises(REFUSED, match=NEVER):
            sql(statement)

    with store.reviews.reading("Checking") as look:
        assert look.check_chain().intact
        assert look.editors(plan)[0].subject == "ada"


@attack(
    "A26",
    "the triggers dropped, and the last row of the audit log removed, or all of it written anew",
    before=Verdict.WEAK,
    without="`--noted` of `offsetwise audit` (`_not_as_noted` and the row count in `store.audit.check`)",
    left="what was added and removed again since somebody noted the last hash",
)
def test_a_chain_whose_end_was_cut_off_is_told_by_the_hash_that_was_noted(store: Store, sql: Sql, url: str) -> None:
    drafted(store.reviews)
    with store.reviews.changing("Deciding") as change:
        change.record(record("approve", result="refused"))
    before = json.loads(call("audit", "--store", url, "--json").out)
    assert (before["intact"], before["row"], before["at_ms"]) == (True, 2, 7)
    noted = f"{before['row']}:{before['hash']}"
    assert json.loads(call("audit", "--store", url, "--noted", noted, "--json").out)["intact"] is True

    dropped(sql, url, "review_audit")
    sql("DELETE FROM review_audit WHERE seq = 2")

    unnoted = call("audit", "--store", url)
    assert (unnoted.code, "intact" in unnoted.out) == (0, True), "the chain by itself is whole"
    told = call("audit", "--store", url, "--noted", noted, "--json")
    assert told.code == 5
    found = json.loads(told.out)
    assert (found["intact"], found["row"]) == (False, 1)
    assert found["broken"] == "Row 2 was noted, and the chain ends at 1: its end was cut off."

    with store.reviews.changing("Deciding") as change:
        change.record(record("approve", result="done"))
    told = call("audit", "--store", url, "--noted", noted)
    assert told.code == 5
    assert "Row 2 has another hash than was noted" in " ".join(told.out.split())


@with_cases("noted", ["", "7", "7:zz", f"x:{'a' * 64}", f"-1:{'a' * 64}", f"{'9' * 400}:{'a' * 64}"])
def test_a_note_that_cannot_be_understood_is_refused_before_anything_is_read(noted: str, tmp_path: Path) -> None:
    ran = call("audit", "--store", f"sqlite:///{tmp_path / 'none.sqlite'}", "--noted", noted, "--json")

    assert "expected ROW:HASH" in ran.refused()["problem"]


def test_the_audit_log_of_a_store_that_is_not_there_is_not_intact(tmp_path: Path) -> None:
    ran = call("audit", "--store", f"sqlite:///{tmp_path / 'none.sqlite'}", "--json")

    assert "found no file" in ran.refused()["problem"]
    assert list(tmp_path.iterdir()) == []


@attack(
    "A27",
    "`UPDATE review_plan SET state = 'approved'` by whoever owns the database",
    before=Verdict.HELD,
    without="the count of approvals in `review.sheet.standing` (the row's state believed)",
)
def test_a_plan_that_the_database_calls_approved_has_no_approval(anywhere: Scene, sql: Sql) -> None:
    saved = anywhere.submitted()

    sql(f"UPDATE review_plan SET state = 'approved' WHERE id = {saved.plan}")

    sheet = anywhere.board.sheet(ADA, saved.plan)
    assert sheet is not None
    assert (sheet.status.approved, len(sheet.status.counted)) == (False, 0)
    assert not isinstance(anywhere.approve(RITA, saved), Approved)
    assert anywhere.board.export(ADA, saved.plan, ExportKind.APPROVAL) == ()
    (plan,) = anywhere.board.export(ADA, saved.plan, ExportKind.PLAN)
    assert plan.mark is SheetMark.DRAFT


SQL = ("'; DROP TABLE review_plan; --", "%' OR 1=1 --", "\\'; DELETE FROM review_audit; --", HOSTILE, "\x00", "\udc80")


@attack(
    "C10",
    "SQL, zero bytes and half pairs in comments, names of plans and every filter of the audit log",
    before=Verdict.HELD,
    without="`Escaped` of `review_tables`; `_ascii` for the filters by action, result and digest on PostgreSQL",
)
def test_sql_in_any_text_stays_text(store: Store) -> None:
    reviews = store.reviews
    for number, text in enumerate(SQL):
        plan = drafted(reviews, text, digest=f"{number:064x}")
        with reviews.changing("Remarking") as change:
            change.add_comment(plan, 1, by=change.version(plan, 1).by, at_ms=5, body=text)
            change.record(record("comment", subject=text, details={"why": text}))

    with reviews.reading("Reading") as look:
        assert len(look.plans()) == len(SQL)
        for text in SQL:
            row = look.open_plan(text)
            assert row is not None
            assert [each.body for each in look.comments(row.id)] == [text]
            assert len(look.audit(AuditFilter(subject=text), most=9)) == 1
            for wanted in (AuditFilter(action=text), AuditFilter(result=text), AuditFilter(digest=text)):
                assert look.audit(wanted, most=9) == ()
        assert look.check_chain().intact


PASSWORDS = (
    f"postgresql://ada:{SECRET}@db/x",
    f"postgresql+psycopg://ada:{SECRET}@db/x",
    f"postgresql://ada@db/x?password={SECRET}",
    f"postgresql://ada@db/x?sslpassword={SECRET}",
    f"postgresql://ada@db/x?PASSWORD={SECRET}",
    f"postgresql+psycopg2://ada:{SECRET}@db/x",
    f"postgresql+asyncpg://ada:{SECRET}@db/x",
    f"mysql://ada:{SECRET}@db/x",
    f"oracle://ada:{SECRET}@db/x",
    f"sqlite+pysqlcipher://:{SECRET}@/x.db",
    f"postgresql://ada:{SECRET}@db:port/x",
    f"postgresql://ada:${{NO_SUCH_VARIABLE}}{SECRET}@db/x",
    f"{SECRET}",
)


@attack(
    "E3",
    "passwords written out in the store's URL: 13 forms, in the query, for other drivers, in errors",
    before=Verdict.HELD,
    without="the refusals of `store.address._postgresql`",
)
def test_a_password_in_the_address_is_refused_and_never_repeated() -> None:
    for told in PASSWORDS:
        ran = call("audit", "--store", told, "--json")

        error = ran.refused()
        assert error["error"] in ("ConfigError", "SecretError"), told
        assert SECRET not in ran.out + ran.err, told
        assert "Nothing was opened." in error["problem"]


@with_cases(
    "told",
    ["sqlite:///file:x?mode=memory&uri=true", "sqlite:///file::memory:?cache=shared&uri=true", "sqlite:///:memory:"],
)
def test_a_store_that_would_keep_nothing_is_refused(told: str) -> None:
    with pytest.raises(ConfigError, match="names no file, so that nothing would be kept"):
        address(told)


@pytest.fixture
def as_role(server: Server, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    """URLs of a store whose roles have exactly the rights that the page gives them: console, watch and audit."""
    monkeypatch.setenv("OFFSETWISE_TEST_DATABASE_PASSWORD", server.password)
    owner = server.new_database()
    database = owner.rpartition("/")[2]
    assert call("audit", "--store", owner).code == 0
    (granted,) = re.findall(r"```sql\n(.*?)```", section("docs/sign-in.md", "Least rights on PostgreSQL"), re.DOTALL)
    for statement in filter(None, map(str.strip, granted.split(";"))):
        if not statement.startswith("CREATE ROLE"):  # roles are those of the server, and other tests have them
            server.run_sql(statement, database=database)
            continue
        made = statement.replace("LOGIN", f"LOGIN PASSWORD '{server.password}'")
        server.run_sql(f"DO $$ BEGIN {made}; EXCEPTION WHEN duplicate_object THEN NULL; END $$", database=database)
    names = ("offsetwise_console", "offsetwise_watch", "offsetwise_audit")
    console, watch, audit = (owner.replace("//offsetwise:", f"//{name}:") for name in names)
    return console, watch, audit


@attack(
    "E9",
    "a console, `watch` and `offsetwise audit` with exactly the rights that the documents name, doing what only the "
    "owner may",
    before=Verdict.HELD,
    without="any one `GRANT` of `docs/sign-in.md`; with `UPDATE ON review_audit` more",
)
def test_the_documented_rights_are_enough_and_no_more(as_role: tuple[str, str, str], server: Server) -> None:
    console, watch, audit = as_role
    with open_store(console) as store:
        plan = submitted(store.reviews)
        add_set(store, [(plan, DIGEST)])
        with store.reviews.changing("Deciding") as change:
            decide(change, plan, REVIEWER)
        store.add(sample())
        assert store.prune(LATER_MS) == 1
    with open_store(watch) as store:
        store.add(sample(seconds=60))
        assert store.prune(LATER_MS) == 1
        with pytest.raises(StoreError), store.reviews.reading("Reading") as look:
            look.plans()
    assert call("audit", "--store", audit, "--json").code == 0
    with open_store(audit) as store, pytest.raises(StoreError):
        store.add(sample(seconds=120))

    database = console.rpartition("/")[2]
    for role in ("offsetwise_console", "offsetwise_watch", "offsetwise_audit"):
        with server.connect(database) as connection:
            connection.execute(f"SET ROLE {role}".encode())
            for statement in (
                "UPDATE review_audit SET subject = 'eve'",
                "DELETE FROM review_decision",
                "ALTER TABLE review_audit DISABLE TRIGGER USER",
                "DROP TABLE review_audit",
                "TRUNCATE review_version",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())


WRITER = """
import sys
from offsetwise.store.store import open_store
from tests.store.test_reviews import record

with open_store(sys.argv[1], wait_s=60) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(60):
        with store.reviews.changing("Writing") as change:
            change.record(record())
"""


@attack(
    "E10",
    "two processes write to one SQLite store at once, 60 changes each",
    before=Verdict.HELD,
    without="`BEGIN IMMEDIATE` for whoever writes (`store.database`)",
)
def test_two_processes_on_one_file_leave_a_whole_chain(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path / 'store.sqlite'}"
    with open_store(where):
        pass
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", WRITER, where]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as one,
        subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as two,
    ):
        for writer in (one, two):
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in (one, two):
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        said = [writer.communicate(timeout=300)[1] for writer in (one, two)]
        assert [(writer.returncode, text) for writer, text in zip((one, two), said, strict=True)] == [(0, ""), (0, "")]
    with open_store(where) as store, store.reviews.reading("Checking") as look:
        chain = look.check_chain()
    assert (chain.intact, chain.rows) == (True, 120)
