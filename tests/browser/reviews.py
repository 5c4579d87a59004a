"""Serves the console with plans under review: `python -m tests.browser.reviews PORT`.

Those of the demonstration are one plan of the bundled sample, in two versions, submitted and talked about.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from offsetwise import files
from offsetwise.console import board
from offsetwise.console.server.launch import launch
from offsetwise.model import Comparison, Override, Plan, Target
from offsetwise.plan.draft import totals_of
from offsetwise.plan.request import DraftRequest
from offsetwise.position import offset_of
from offsetwise.review.access import Role
from offsetwise.review.answers import SavedVersion, Submitted
from offsetwise.review.board import Board
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.people import recorded
from offsetwise.review.sets.answers import SubmittedSet
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store
from offsetwise.workflow import draft, sample, sample_comparison, with_sample_snapshots
from tests.review.sets import REFUSED, set_of
from tests.subjects import checkpoint

CHECKPOINT = "payments"
REMARK = "payments-1 is behind a gap of the mirror, so I took the earliest possible place."


def of_sample(author: str, *, editors: tuple[str, ...] = (), overridden: bool = False) -> tuple[Plan, Comparison]:
    """Draft a plan of the bundled sample, one partition of it put elsewhere by a person if asked for."""
    seen = with_sample_snapshots(sample_comparison(CHECKPOINT))
    row = seen.partitions[0]
    override = Override(offset=offset_of(row.new_offset or 0) - 5, reason="to be safe <b>&</b> sound", by=author)
    at = row.topic_partition
    plan = draft(
        sample(),
        checkpoint(CHECKPOINT),
        DraftRequest(
            targets=(Target(kind="spark-checkpoint"),),
            author=author,
            editors=editors,
            overrides=((at, override),) if overridden else (),
        ),
        drafted_at="2026-03-01T09:00:00Z",
        comparison=seen,
    )
    return plan, seen


def grown(plan: Plan, partitions: int, per_topic: int = 100) -> Plan:
    """Return the plan many partitions, of the kind of its first one."""
    first = plan.positions[0]
    positions = tuple(
        replace(
            first,
            topic=f"topic-{number // per_topic:03}",
            new_topic=f"topic-{number // per_topic:03}",
            partition=number % per_topic,
        )
        for number in range(partitions)
    )
    return replace(plan, positions=positions, totals=totals_of(positions))


def seeded(reviews: Reviews, *, partitions: int = 0) -> tuple[Board, SavedVersion]:
    """Save, edit, submit and talk about a plan of the demonstration; give its board and the newest version."""
    demo = demo_board(reviews)
    author = demo_people(datetime.now(UTC))[Role.AUTHOR]
    plan, seen = of_sample(recorded(author))
    if partitions:
        plan = grown(plan, partitions)
    saved = demo.save_draft(author, files.dump(plan).encode(), comparison=seen)
    assert isinstance(saved, SavedVersion), saved
    names = demo.credits(author, saved.plan)
    if partitions:
        first = replace(plan.positions[0], reason="looked at again")
        edited = replace(plan, positions=(first, *plan.positions[1:]))
    else:
        edited, _ = of_sample(names.author, editors=names.editors, overridden=True)
    again = demo.save_draft(author, files.dump(edited).encode(), plan=saved.plan, base=saved.digest, comparison=seen)
    assert isinstance(again, SavedVersion), again
    demo.comment(author, saved.plan, REMARK)
    assert isinstance(demo.submit(author, saved.plan, again.digest), Submitted)
    return demo, again


def waiting(partitions: int = 0) -> None:
    """Let such a plan wait for the reviewer of this process's demonstration."""
    folder = Path(tempfile.mkdtemp(prefix="offsetwise-reviews-"))
    store = open_store(f"sqlite:///{folder / 'demo.sqlite'}")
    own = open_store(f"sqlite:///{folder / 'own.sqlite'}")
    seeded(store.reviews, partitions=partitions)
    board.use(lambda: own.reviews, lambda: store.reviews)


def set_waiting(count: int) -> None:
    """Let a set of so many plans wait for the reviewer of this process's demonstration; one job of it has no plan."""
    folder = Path(tempfile.mkdtemp(prefix="offsetwise-reviews-"))
    store = open_store(f"sqlite:///{folder / 'demo.sqlite'}")
    own = open_store(f"sqlite:///{folder / 'own.sqlite'}")
    demo = demo_board(store.reviews)
    author = demo_people(datetime.now(UTC))[Role.AUTHOR]
    plan, seen = of_sample(recorded(author))
    needs = plan.requirements
    assert needs.checkpoint is not None
    plans = []
    for number in range(count):
        name = f"etl-{number:03}"
        elsewhere = replace(needs, checkpoint=replace(needs.checkpoint, uri=f"checkpoints/{name}"))
        content = files.dump(replace(plan, requirements=elsewhere)).encode()
        plans.append((f"checkpoint {name}", content))
    made = demo.submit_set(author, set_of(plans, "pilot", (REFUSED,)))
    assert isinstance(made, SubmittedSet), made
    assert seen.partitions
    board.use(lambda: own.reviews, lambda: store.reviews)


if __name__ == "__main__":
    waiting()
    launch(port=int(sys.argv[1]))
