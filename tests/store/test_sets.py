"""Sets of plans in the store, and envelopes that are decisions about several plans, on both databases."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

from offsetwise.errors import StoreError
from offsetwise.store import database
from offsetwise.store.address import address
from offsetwise.store.review_rows import SetMember, State
from offsetwise.store.reviews import Change
from offsetwise.store.store import Store, open_store
from tests.store.test_reviews import ADA, RITA, Sql, record, sql, submitted

__all__ = ["sql"]
NONCE = "0" * 32


def decide(change: Change, plan: int, digest: str, *, nonce: str = NONCE, envelope: bytes = b"signed") -> None:
    submission = change.submission(change.version(plan, 1).id)
    assert submission is not None
    change.add_decision(
        plan,
        submission.id,
        digest=digest,
        by=RITA,
        verdict="approved",
        at_ms=3,
        expires_at_ms=9,
        nonce=nonce,
        envelope=envelope,
        separation=True,
    )
    change.record(record("approve", plan=plan))


def digests(count: int) -> list[str]:
    return [f"{number:064x}" for number in range(count)]


def plans(store: Store, count: int) -> list[tuple[int, str]]:
    return [(submitted(store.reviews, f"job-{d}", digest=d), d) for d in digests(count)]


def members(change: Change, made: list[tuple[int, str]]) -> list[SetMember]:
    versions = [change.version(plan, 1) for plan, _ in made]
    return [SetMember(plan=each.plan, version=each.id, number=1, digest=each.digest) for each in versions]


def add_set(store: Store, made: list[tuple[int, str]], *, digest: str = "ab" * 32) -> int:
    with store.reviews.changing("Submitting") as change:
        number = change.add_set(
            migration="m",
            wave="pilot",
            digest=digest,
            content=b"the set",
            members=members(change, made),
            by=ADA,
            at_ms=5,
        )
        change.record(record("submit"))
    return number


def test_one_envelope_is_kept_once_and_counts_once_for_each_plan(store: Store) -> None:
    made = plans(store, 3)
    with store.reviews.changing("Deciding") as change:
        for place, (plan, digest) in enumerate(made):
            if place:
                change.go_on()
            decide(change, plan, digest)

    with store.reviews.reading("Reading") as look:
        kept = look.decisions_of([plan for plan, _ in made])
        assert [[row.envelope for row in rows] for rows in kept.values()] == [[b"signed"]] * 3
        assert all(look.nonce_used(plan, NONCE) for plan, _ in made)
        chain = look.check_chain()
        assert (chain.intact, chain.rows) == (True, 3 * 2 + 3)


def test_a_nonce_is_that_of_one_envelope_and_of_one_decision_about_a_plan(store: Store) -> None:
    (one, first), (other, second) = plans(store, 2)
    with store.reviews.changing("Deciding") as change:
        decide(change, one, first)

    with pytest.raises(StoreError, match=r"UNIQUE|unique"), store.reviews.changing("Deciding") as change:
        decide(change, other, second, envelope=b"forged")
    with store.reviews.reading("Reading") as look:
        assert look.decisions(other) == ()
        assert not look.nonce_used(other, NONCE)


def test_a_set_comes_back_with_its_plans_in_their_order(store: Store) -> None:
    made = plans(store, 5)
    random.Random(7).shuffle(made)
    number = add_set(store, made)

    with store.reviews.reading("Reading") as look:
        row = look.plan_set(number)
        assert row is not None
        assert [(each.plan, each.digest) for each in row.members] == made
        assert (row.wave, row.migration, row.by.subject, look.set_content(number)) == ("pilot", "m", "ada", b"the set")
        assert look.sets() == look.sets(plan=made[2][0]) == (row,)
        assert look.set_of(row.digest) == row
        assert look.plan_set(99) is None
        assert look.sets(plan=99) == ()


def test_the_same_set_is_not_there_twice_and_no_plan_is_in_one_twice(store: Store) -> None:
    made = plans(store, 2)
    add_set(store, made)
    for again, digest in ((made, "ab" * 32), ([*made, made[0]], "cd" * 32)):
        with pytest.raises(StoreError, match=r"UNIQUE|unique"):
            add_set(store, again, digest=digest)


@pytest.mark.parametrize("table", ["review_envelope", "review_set", "review_set_plan", "review_decision"])
def test_nothing_of_a_set_or_its_decision_is_changed_or_removed_with_the_databases_own_tools(
    store: Store, sql: Sql, table: str
) -> None:
    made = plans(store, 1)
    add_set(store, made)
    with store.reviews.changing("Deciding") as change:
        decide(change, *made[0])
    column = "rank" if table == "review_set_plan" else "audit_seq"
    for statement in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):
        with pytest.raises(Exception, match="never changed or removed"):
            sql(statement)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_done_in_parts_is_there_whole_or_not_at_all(store: Store, seed: int) -> None:
    """Generated changes of several plans, some of which fail at a part: the chain has a row for each part that is."""
    chance = random.Random(seed)
    made = plans(store, 6)
    rows, decided = 12, set[int]()
    for _ in range(8):
        some = chance.sample(made, chance.randint(1, 4))
        fails = chance.random() < 0.4
        expected = not fails and not decided & {plan for plan, _ in some}
        nonce = f"{chance.getrandbits(64):032x}"
        if _decided(store, some, nonce, fails=fails):
            assert expected
            decided |= {plan for plan, _ in some}
            rows += len(some)
        else:
            assert not expected
        with store.reviews.reading("Reading") as look:
            chain = look.check_chain()
            assert (chain.intact, chain.rows) == (True, rows)
            kept = look.decisions_of([plan for plan, _ in made])
            assert {plan for plan, found in kept.items() if found} == decided
            assert {row.id for row in look.plans() if row.state is State.APPROVED} == decided


def _decided(store: Store, some: list[tuple[int, str]], nonce: str, *, fails: bool) -> bool:
    """Approve plans in one change, which may fail behind the last; return whether it was done."""
    try:
        with store.reviews.changing("Deciding") as change:
            for place, (plan, digest) in enumerate(some):
                if place:
                    change.go_on()
                decide(change, plan, digest, nonce=nonce)
                change.move(plan, State.APPROVED, number=1, at_ms=3)
            if fails:
                raise LookupError
    except (LookupError, StoreError):
        return False
    return True


def _older(url: str) -> Iterator[None]:
    """Make the tables as the release before had them."""
    engine = create_engine(address(url).url)
    with engine.connect() as connection, connection.begin():
        config = Config(attributes={"connection": connection, "version_table": database.VERSION_TABLE})
        config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
        command.upgrade(config, "r0003")
        yield
        for statement in _OLD_ROWS:
            blob = engine.dialect.name == "sqlite"
            connection.execute(text(statement.replace("'signed'", "CAST('signed' AS BLOB)") if blob else statement))
    engine.dispose()


_OLD_ROWS = (
    *(
        "INSERT INTO review_audit (seq, at_ms, action, result, body, previous, hash) "
        f"VALUES ({seq}, 1, 'save', 'done', '{{}}', '{seq - 1:064x}', '{seq:064x}')"
        for seq in (1, 2)
    ),
    *(
        "INSERT INTO review_plan (id, migration, moves, state, number, changed_at_ms) "
        f"VALUES ({plan}, 'm', 'job-{plan}', 'submitted', 1, 1)"
        for plan in (1, 2)
    ),
    *(
        "INSERT INTO review_version (id, plan_id, number, digest, facts, issuer, subject, name, at_ms, audit_seq, "
        f"content) VALUES ({plan}, {plan}, 1, '{plan:064x}', '{{}}', 'i', 'ada', 'Ada', 1, 1, 'x')"
        for plan in (1, 2)
    ),
    *(
        "INSERT INTO review_submission (id, version_id, round, issuer, subject, name, at_ms, expires_at_ms, audit_seq) "
        f"VALUES ({plan}, {plan}, 1, 'i', 'ada', 'Ada', 1, 9, 1)"
        for plan in (1, 2)
    ),
    *(
        "INSERT INTO review_decision (id, plan_id, submission_id, digest, issuer, subject, name, verdict, at_ms, "
        "expires_at_ms, nonce, envelope, separation, audit_seq, likeness) "
        f"VALUES ({plan}, {plan}, {plan}, '{plan:064x}', 'i', 'rita', 'Rita', 'approved', 3, 9, '{plan:032x}', "
        "'signed', 1, 2, 'rita')"
        for plan in (1, 2)
    ),
)


def test_a_store_of_the_release_before_keeps_every_decision_with_its_envelope(url: str) -> None:
    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).touch(0o600)
    for _ in _older(url):
        pass

    with open_store(url) as store:
        with store.reviews.reading("Reading") as look:
            kept = [row for plan in (1, 2) for row in look.decisions(plan)]
            assert [(row.id, row.envelope, row.nonce, row.by.subject) for row in kept] == [
                (1, b"signed", f"{1:032x}", "rita"),
                (2, b"signed", f"{2:032x}", "rita"),
            ]
            assert look.sets() == ()
        with pytest.raises(StoreError), store.reviews.changing("Deciding") as change:
            decide(change, 1, f"{1:064x}")


def test_an_old_store_has_every_rule_of_a_new_one(tmp_path: Path) -> None:
    schemas = []
    for name in ("old", "new"):
        path = tmp_path / f"{name}.sqlite"
        path.touch(0o600)
        if name == "old":
            for _ in _older(f"sqlite:///{path}"):
                pass
        open_store(f"sqlite:///{path}").close()
        with sqlite3.connect(path) as connection:
            schemas.append(sorted(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()))
        connection.close()
    assert [repr(each) for each in schemas[0]] == [repr(each) for each in schemas[1]]
