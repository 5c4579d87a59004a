"""Everything that has a name is called what it is told: `python -m tests.attacks.named PORT KIND` serves it.

Topics, groups, checkpoints, clusters, people, reasons, remarks, paths and sentences of a migration that was read, and
of a plan of it under review, in two versions, refused and talked about.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from offsetwise import files
from offsetwise.approval import Verdict
from offsetwise.console import board
from offsetwise.console.reader import Offered
from offsetwise.console.server.launch import launch
from offsetwise.engines.engine import CheckpointReading
from offsetwise.fleets import assemble
from offsetwise.lag.archive import Recording
from offsetwise.lag.moments import Key
from offsetwise.lag.subject import LagSubject
from offsetwise.lag.view import LagView, PartitionView, lag_view, partition_view
from offsetwise.model import (
    ClusterRef,
    Comparison,
    GateCheck,
    Outcome,
    Override,
    PartitionComparison,
    Plan,
    Problem,
    Subject,
    SubjectKind,
    Target,
)
from offsetwise.plan.draft import totals_of
from offsetwise.progress import Progress
from offsetwise.review.access import Role
from offsetwise.review.answers import SavedVersion, Submitted
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.people import Person, recorded
from offsetwise.store.reviews import Reviews
from offsetwise.store.store import open_store
from tests import lag_samples
from tests.browser.reviews import of_sample
from tests.console import builders, clusters_of_tests, fleets
from tests.console.readers import ValueReader

PAYLOADS: Final = (
    "<img src=http://img.evil.example/x onerror=alert(1)>",
    "<script src=http://script.evil.example/x></script>",
    "<svg onload=alert(1)><image href=http://svg.evil.example/x></svg>",
    "<iframe src=http://iframe.evil.example></iframe>",
    "![x](http://image.evil.example/x)",
    "[x](javascript:alert(1)) [y](http://link.evil.example)",
    "$\\href{http://katex.evil.example}{x}$",
    ":red[x] :material/lock: :help[x]",
    "`x`</code><b>y</b>",
    "a|b\n| c |",
    "or\u202eders\u200f-\u05d0",
    "{{7*7}} ${7*7} %{x}",
    "# x\n- y",
    "<style>*{background:url(http://style.evil.example)}</style>",
    '=HYPERLINK("http://sheet.evil.example")',
    "[^1]: x\n[r]: http://reference.evil.example",
)
"""What means something in HTML, Markdown, Streamlit's directives, formulas, templates."""

ADDRESSES: Final = (
    "http://a.evil.example/x?y#z",
    "HTTPS://b.evil.example",
    "(http://c.evil.example)",
    "x,http://user@d.evil.example:80/",
    "www.e.evil.example",
    "WWW.f.evil.example",
    "_www.g.evil.example",
    "wwww.h.evil.example",
    "www",
    "i@i.evil.example",
    "mailto:j@j.evil.example",
    "xmpp:k@k.evil.example/x",
    "ftp://l.evil.example",
    "//m.evil.example",
    "ho.st-n_n+n@n.evil.example",
)
"""Of which some become links by themselves in GitHub's Markdown."""

LOOKALIKES: Final = (
    "payments",
    "p\u0430yments",
    "pay\u034fments",
    "pay\u3164ments",
    "pay\u2800ments",
    "pay\ufe0fments",
    "\u0301payments",
    "payments\u0301\u0301",
    "注文-orders",
    "Zahlungen-für-Öl",
    "платежи",
    "πληρωμές",
)
"""Seven that look like the first, and four that only are in another language."""

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "payloads": PAYLOADS + ADDRESSES,
    "lookalikes": LOOKALIKES,
}


class Named(ValueReader):
    """Returns a migration that was read, in which everything has one of these names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.whole = " ".join(names)
        rows = tuple(
            builders.partition(
                name,
                findings=("LOSS_INSIDE_LOG",),
                reason=f"It is {name}.",
                statements=(f"{name} was read.", name),
            )
            for name in names
        )
        super().__init__({self.whole: self._compared(rows)})
        self.clusters |= clusters_of_tests.hostile(names)
        self._sampled = Recording(
            tuple(
                lag_samples.sample(
                    *(lag_samples.row(name, position=1050 + index) for name in names),
                    seconds=30 * index,
                    groups=(self.whole,),
                    migration=self.whole,
                    checkpoint=self.whole,
                )
                for index in range(3)
            )
        )
        self.fleet_given = assemble(
            [
                fleets.checkpoint(
                    f"/data/{name}",
                    job_id=name,
                    topics={name: 1},
                    problems=(Problem(code=name, message=name, fix=name),),
                )
                for name in names
            ]
            + [fleets.failed(f"/data/{name}/x") for name in names],
            {f"/data/{name}": (name,) for name in names},
            roots=("/data",),
        )
        self.seen = _observed(self._recorded[self.whole])

    def _compared(self, rows: tuple[PartitionComparison, ...]) -> Comparison:
        made = builders.comparison(rows, migration=self.whole, name=self.whole)
        assert made.checkpoint is not None
        return replace(
            made,
            checkpoint=replace(
                made.checkpoint,
                job_id=self.whole,
                restart=f"Batch 7 runs again: {self.whole}",
                problems=(Problem(code="CHECKPOINT_OLD", message=self.whole, fix=self.whole),),
                sources=(
                    *made.checkpoint.sources,
                    replace(made.checkpoint.sources[0], index=1, id="1", kind=self.whole, positions=(), raw=self.whole),
                ),
            ),
            belongs_to=replace(made.belongs_to, reason=self.whole),
            old=ClusterRef(name=self.whole, cluster_id=self.whole, taken_at=made.taken_at),
            new=ClusterRef(name=self.whole, cluster_id=self.whole, taken_at=made.taken_at),
        )

    def offered(self) -> tuple[Offered, ...]:
        subjects = tuple(Subject(kind=kind, name=self.whole) for kind in SubjectKind)
        return (Offered(name=self.whole, old=self.whole, new=self.whole, subjects=subjects, recorded=True),)

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:  # noqa: ARG002 - the reader's
        return self._recorded[self.whole]

    def checkpoint_reading(self, *_: object) -> CheckpointReading:
        checkpoint = self._recorded[self.whole].checkpoint
        assert checkpoint is not None
        return CheckpointReading(checkpoint=checkpoint, read_at_ms=0)

    def lag(self, migration: str, subject: Subject, window_ms: int, progress: Progress) -> LagView | None:  # noqa: ARG002 - the reader's
        return lag_view(self._sampled, self._watched, window_ms)

    def lag_of_partition(
        self,
        migration: str,  # noqa: ARG002 - the reader's
        subject: Subject,  # noqa: ARG002 - as above
        window_ms: int,
        key: Key,
        progress: Progress,  # noqa: ARG002 - as above
    ) -> PartitionView | None:
        return partition_view(self._sampled, self._watched, key, window_ms)

    @property
    def _watched(self) -> LagSubject:
        return LagSubject(migration=self.whole, kind=SubjectKind.CHECKPOINT, name=self.whole)


def _observed(comparison: Comparison) -> Comparison:
    _, seen = of_sample("a")
    return replace(comparison, read_from=seen.read_from)


def plan_of(names: tuple[str, ...], author: str, editors: tuple[str, ...], whole: str) -> Plan:
    """Name everything in a plan of the bundled sample."""
    plan, _ = of_sample(author, editors=editors, overridden=True)
    first = plan.positions[0]
    positions = tuple(
        replace(
            first,
            topic=name,
            new_topic=name,
            reason=name,
            override=Override(offset=first.new_offset, reason=name, by=author),
        )
        for name in names
    )
    return replace(
        plan,
        migration=whole,
        positions=positions,
        totals=totals_of(positions),
        strategy=whole,
        keeps=names,
        gives_up=names,
        gate=(GateCheck(name=whole, outcome=Outcome.FAILED, told=whole),),
        prediction=replace(plan.prediction, told=whole),
        targets=tuple(Target(kind="consumer-group", group=name) for name in names),
    )


def seeded(reviews: Reviews, names: tuple[str, ...]) -> None:
    """Keep such a plan in two versions, submitted and talked about by people of such names, and refuse a stranger."""
    whole = " ".join(names)
    people = demo_people(datetime.now(UTC))
    author, reviewer = (replace(people[role], name=whole[:200]) for role in (Role.AUTHOR, Role.REVIEWER))
    demo = demo_board(reviews)
    saved = demo.save_draft(author, files.dump(plan_of(names, recorded(author), (), whole)).encode())
    assert isinstance(saved, SavedVersion), saved
    credits_ = demo.credits(author, saved.plan)
    edited = plan_of(names[::-1], credits_.author, credits_.editors, whole)
    again = demo.save_draft(author, files.dump(edited).encode(), plan=saved.plan, base=saved.digest)
    assert isinstance(again, SavedVersion), again
    demo.comment(reviewer, saved.plan, whole)
    demo.decide(Person(issuer=whole, subject=whole, name=whole), saved.plan, again.digest, Verdict.APPROVED)
    assert isinstance(demo.submit(author, saved.plan, again.digest), Submitted)


if __name__ == "__main__":
    _names = KINDS[sys.argv[2]]
    _folder = Path(tempfile.mkdtemp(prefix="offsetwise-named-"))
    _store = open_store(f"sqlite:///{_folder / 'demo.sqlite'}")
    _own = open_store(f"sqlite:///{_folder / 'own.sqlite'}")
    seeded(_store.reviews, _names)
    board.use(lambda: _own.reviews, lambda: _store.reviews)
    launch(port=int(sys.argv[1]), reader=Named(_names))
