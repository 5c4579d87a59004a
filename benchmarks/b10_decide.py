"""B10: a plan of 10,000 partitions submitted and decided about, in a SQLite store on the disk.

Target: submitting and deciding in 300 ms or less each, the audit log's row and its fsync included, by a console that
has never seen the plan; and after 1,000 earlier plans no slower than twice as slow. On a busy machine the clock
measures the others' work: `--busy` holds processor time against the target, and the disk's part is not in it.

    python benchmarks/b10_decide.py [--partitions 10000] [--earlier 1000] [--busy]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import offsetwise
from offsetwise import files, workflow
from offsetwise.approval import Verdict, keygen, write_keys
from offsetwise.model import Plan, Snapshot, Target
from offsetwise.plan.draft import draft
from offsetwise.plan.request import DraftRequest
from offsetwise.review.access import Access, Decisions, Grant, Roles
from offsetwise.review.answers import Approved, SavedVersion, Submitted
from offsetwise.review.board import Board
from offsetwise.review.people import Person
from offsetwise.review.risk import VersionFacts
from offsetwise.store.store import Store, open_store
from tests.subjects import checkpoint

Made = TypeVar("Made")
Clock = Callable[[], float]
ROUNDS, TARGET_MS = 9, 300.0
SAMPLE = Path(offsetwise.__file__).parent / "sample"
ISSUER = "https://login.example.org"
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
AUTHOR = Person(issuer=ISSUER, subject="ada", name="Ada", signed_in_at=NOW)
REVIEWER = Person(issuer=ISSUER, subject="rita", name="Rita", signed_in_at=NOW)
ROLES = Roles(author=(Grant(issuer=ISSUER, subject="ada"),), reviewer=(Grant(issuer=ISSUER, subject="rita"),))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--earlier", type=int, default=1_000)
    parser.add_argument("--busy", action="store_true")
    told = parser.parse_args()
    clock = time.process_time if told.busy else time.perf_counter
    plan = wide_plan(told.partitions)
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.sqlite") as store:
        key = Path(folder, "console.key")
        write_keys(key, keygen(subject="benchmark", console=True))
        access = Access(roles=ROLES, decisions=Decisions(key=str(key)))
        first = measured(store, access, plan, "first", clock)
        small = wide_plan(1)
        for number in range(told.earlier):
            saved(Board(store.reviews, lambda: access, clock=lambda: NOW), small, f"earlier-{number}")
        later = measured(store, access, plan, "later", clock)
    size = len(files.dump(plan).encode())
    kind = "processor time" if told.busy else "time"
    print(f"{told.partitions:,} partitions, {size / 1e6:.1f} MB; {kind}, medians of {ROUNDS}, the slowest in brackets")
    good = True
    for what in ("save", "submit", "decide"):
        (alone, worst), (after, worst_after) = first[what], later[what]
        print(
            f"{what:>7}: {alone:7.1f} ms ({worst:.1f}); after {told.earlier:,} earlier plans {after:7.1f} ms "
            f"({worst_after:.1f})"
        )
        good = good and (what == "save" or (alone <= TARGET_MS and after <= TARGET_MS and after < 2 * alone + 10))
    return 0 if good else 1


def measured(store: Store, access: Access, plan: Plan, name: str, clock: Clock) -> dict[str, tuple[float, float]]:
    taken: dict[str, list[float]] = {"save": [], "submit": [], "decide": []}
    for number in range(ROUNDS):
        # A board of its own for each: nothing is parsed already.
        board = Board(store.reviews, lambda: access, clock=lambda: NOW)
        made = timed(clock, taken["save"], partial(saved, board, plan, f"{name}-{number}"))
        board = Board(store.reviews, lambda: access, clock=lambda: NOW + timedelta(seconds=1))
        answer = timed(clock, taken["submit"], partial(board.submit, AUTHOR, made.plan, made.digest))
        assert isinstance(answer, Submitted), answer
        typed = confirmation(store, made)
        board = Board(store.reviews, lambda: access, clock=lambda: NOW + timedelta(seconds=2))
        decided = timed(
            clock,
            taken["decide"],
            partial(board.decide, REVIEWER, made.plan, made.digest, Verdict.APPROVED, typed=typed),
        )
        assert isinstance(decided, Approved), decided
    return {what: (statistics.median(each), max(each)) for what, each in taken.items()}


def confirmation(store: Store, made: SavedVersion) -> str | None:
    with store.reviews.reading("Reading") as look:
        return VersionFacts.load(look.version(made.plan, made.number).facts).confirm


def timed(clock: Clock, taken: list[float], what: Callable[[], Made]) -> Made:
    begun = clock()
    made = what()
    taken.append((clock() - begun) * 1000)
    return made


def saved(board: Board, plan: Plan, moves: str) -> SavedVersion:
    checkpoint = plan.requirements.checkpoint
    assert checkpoint is not None
    needs = replace(plan.requirements, checkpoint=replace(checkpoint, uri=f"/{moves}"))
    made = replace(plan, author=board.credits(AUTHOR).author, requirements=needs)
    answer = board.save_draft(AUTHOR, files.dump(made).encode())
    assert isinstance(answer, SavedVersion), answer
    return answer


def wide_plan(count: int) -> Plan:
    seen = workflow.load_comparison(SAMPLE / "comparison-payments.json", SAMPLE / "old.json", SAMPLE / "new.json")
    row = seen.partitions[0]
    comparison = replace(
        seen,
        partitions=tuple(replace(row, partition=number) for number in range(count)),
        read_from=(wide(seen.snapshots[0], count), wide(seen.snapshots[1], count)),
    )
    request = DraftRequest(
        targets=(Target(kind="spark-checkpoint"),), author="benchmark", subject=checkpoint("payments")
    )
    return draft(comparison, workflow.sample(), request, drafted_at="2026-11-21T00:00:00Z")


def wide(snapshot: Snapshot, count: int) -> Snapshot:
    topics = tuple(
        replace(topic, partitions=tuple(replace(topic.partitions[0], partition=number) for number in range(count)))
        for topic in snapshot.topics
        if topic.name == "payments"
    )
    return replace(snapshot, topics=topics)


if __name__ == "__main__":
    raise SystemExit(main())
