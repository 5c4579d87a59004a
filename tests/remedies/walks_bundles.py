"""Remedies of the review where plans, approvals and receipts come from another console."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from offsetwise import files
from offsetwise.model import Override
from offsetwise.review import board as boards
from offsetwise.review.access import Role, SignIn
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.people import Person
from offsetwise.store.store import open_store
from tests.approval.signed import FILE, PLAN
from tests.remedies.walk import Scene, Steps, walk
from tests.review import people
from tests.review.people import ADA, NOW, RALPH, RITA
from tests.review.test_bundle import confirmed, packed
from tests.review.test_receipts import receipt

Given = tuple[Callable[[], object], Callable[[], object]]
Two = Callable[[people.Scene, people.Scene], Given]


def console(folder: Path) -> people.Scene:
    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(f"sqlite:///{folder / 'store.sqlite'}", wait_s=60)
    return people.Scene(store.reviews, people.access_with_key(folder))


def on_boards(scope: str, words: str) -> Callable[[Two], None]:
    """Add a walk on two consoles: what is refused, and what the remedy says to do in its place."""

    def added(given: Two) -> None:
        @walk(f"review/{scope}", words, name=given.__name__)
        def _(scene: Scene) -> Steps:
            command, then = given(console(scene.folder / "home"), console(scene.folder / "away"))
            return Steps(command, lambda: None, then)

    return added


@on_boards("allowing.py::_why_not_decide", "Sign out, sign in again")
def sign_in_of_yesterday(home: people.Scene, _: people.Scene) -> Given:
    saved = home.submitted()
    earlier = replace(RITA, signed_in_at=NOW - timedelta(hours=20))
    return lambda: home.approve(earlier, saved), lambda: home.approve(RITA, saved)


@on_boards("allowing.py::why_not", "Sign in as a reviewer of this console")
def bundle_for_the_demonstration(home: people.Scene, away: people.Scene) -> Given:
    _, content = packed(home)
    playing = demo_people(NOW)[Role.REVIEWER]
    demo = demo_board(away.reviews, clock=lambda: NOW)
    return lambda: demo.receive_bundle(playing, content), lambda: away.board.receive_bundle(RITA, content)


@on_boards("drafting.py::save", "Sign in and draft it for your own migration")
def own_plan_in_the_demonstration(home: people.Scene, away: people.Scene) -> Given:
    author = demo_people(NOW)[Role.AUTHOR]
    demo = demo_board(away.reviews, clock=lambda: NOW)
    return lambda: demo.save_draft(author, FILE), lambda: home.board.save_draft(ADA, home.drafted(ADA))


@on_boards("deciding.py::_why_not_approved", "Look at the rows marked unsafe")
def nothing_typed(home: people.Scene, _: people.Scene) -> Given:
    positions = tuple(replace(each, skip=3) for each in PLAN.positions)
    saved = home.submitted(positions=positions)
    return lambda: home.approve(RITA, saved), lambda: confirmed(home.board, RITA, saved.plan, saved.digest)


@on_boards("drafting.py::_why_not_new", "Open the plan that was edited")
def new_plan_with_a_base(home: people.Scene, _: people.Scene) -> Given:
    saved = home.saved()
    home.board.withdraw(ADA, saved.plan)
    other = home.saved(moves="payments")
    content = home.drafted(ADA, drafted_at="2026-03-01T10:00:00Z")
    edited = home.drafted(ADA, other.plan, moves="payments", drafted_at="2026-03-01T10:00:00Z")
    return (
        lambda: home.board.save_draft(ADA, content, base=saved.digest),
        lambda: home.board.save_draft(ADA, edited, plan=other.plan, base=other.digest),
    )


@on_boards("drafting.py::_wrong_names", "Decide under your own name")
def offset_decided_by_a_stranger(home: people.Scene, _: people.Scene) -> Given:
    def decided(by: str) -> bytes:
        first, *rest = PLAN.positions
        override = Override(offset=first.new_offset, reason="It is so.", by=by)
        return home.drafted(ADA, positions=(replace(first, override=override), *rest))

    mine = home.board.credits(ADA).author
    return lambda: home.board.save_draft(ADA, decided("mallory")), lambda: home.board.save_draft(ADA, decided(mine))


@on_boards("drafting.py::receive", "Ask its author to submit it again")
def bundle_of_a_submission_that_ended(home: people.Scene, away: people.Scene) -> Given:
    saved, content = packed(home)
    later = NOW + timedelta(days=30)

    def refused() -> object:
        away.now = later
        return away.board.receive_bundle(fresh(RITA), content)

    def fresh(who: Person) -> Person:
        return replace(who, signed_in_at=later, expires_at=later + timedelta(hours=1))

    def again() -> object:
        home.now = later
        home.board.submit(fresh(ADA), saved.plan, saved.digest)
        return away.board.receive_bundle(fresh(RITA), home.board.bundle(fresh(RALPH), saved.plan).content)

    return refused, again


@on_boards("remarks.py::add_receipt", "Open the plan that was applied")
def receipt_of_another_plan(home: people.Scene, _: people.Scene) -> Given:
    saved, other = home.submitted(), home.submitted(moves="payments")
    home.approve(RITA, saved)
    content = files.dump(receipt(home, saved)).encode()
    return (
        lambda: home.board.add_receipt(ADA, other.plan, content),
        lambda: home.board.add_receipt(ADA, saved.plan, content),
    )


@on_boards("view.py::PlansView._looking", "or ask the operator to name you")
def nobody_reads_plans(home: people.Scene, _: people.Scene) -> Given:
    saved = home.submitted()
    home.rules(sign_in=SignIn.REQUIRED)
    return lambda: home.board.bundle(None, saved.plan), lambda: home.board.bundle(RALPH, saved.plan) and None


@walk("review/board.py::_one_at_a_time", "Wait a minute, then bring the file again")
def another_file_is_read(scene: Scene) -> Steps:
    home, away = console(scene.folder / "home"), console(scene.folder / "away")
    _, content = packed(home)
    scene.patch.setattr(boards, "_WAIT_S", 0.01)
    boards._turn.acquire()
    return Steps(lambda: away.board.receive_bundle(RITA, content), boards._turn.release)


@walk("review/attempt.py::content_of", "restore the database from a copy that is whole")
def bytes_changed_in_the_database(scene: Scene) -> Steps:
    folder = scene.folder / "home"
    home = console(folder)
    saved = home.submitted()
    path = folder / "store.sqlite"
    whole = sqlite_bytes(path)
    with sqlite3.connect(path) as database:
        (name,) = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'review_version' "
            "AND sql LIKE '%UPDATE%'"
        ).fetchone()
        database.execute(f"DROP TRIGGER {name}")
        database.execute("UPDATE review_version SET content = CAST(content || x'20' AS BLOB)")

    def restore() -> None:
        for file in folder.glob("store.sqlite*"):
            file.unlink()
        path.write_bytes(whole)
        path.chmod(0o600)

    def command() -> object:
        with open_store(f"sqlite:///{path}", wait_s=60) as store:
            return people.Scene(store.reviews, home.access).approve(RITA, saved)

    return Steps(command, restore)


def sqlite_bytes(path: Path) -> bytes:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()
