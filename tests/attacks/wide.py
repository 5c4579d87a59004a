"""Files of 10,000 partitions, with all the evidence that the bundled sample has for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from offsetwise import files, workflow
from offsetwise.model import Snapshot, Target
from offsetwise.plan.draft import draft
from offsetwise.plan.request import DraftRequest
from offsetwise.review.bundle import pack
from offsetwise.store.review_rows import EditorRow, Who
from tests.plan.scene import observed
from tests.subjects import checkpoint


def written(partitions: int) -> dict[str, bytes]:
    """Return a plan, the comparison and both snapshots that it was drafted from, as their files."""
    seen = observed("payments")
    row = max(seen.partitions, key=lambda each: len(repr(each)))
    rows = tuple(replace(row, partition=number) for number in range(partitions))
    old, new = _wide(seen.snapshots[0], partitions), _wide(seen.snapshots[1], partitions)
    comparison = replace(seen, partitions=rows, read_from=(old, new))
    request = DraftRequest(
        targets=(Target(kind="spark-checkpoint"),), author="ada of https://a", subject=checkpoint("payments")
    )
    plan = draft(comparison, workflow.sample(), request, drafted_at="2026-11-21T00:00:00Z")
    made: dict[str, files.Stored] = {"plan": plan, "comparison": comparison, "old": old, "new": new}
    return {kind: files.dump(each).encode() for kind, each in made.items()}


def bundled(parts: Mapping[str, bytes], *, at_ms: int = 1_772_366_400_000) -> bytes:
    """Pack them as the console does."""
    return pack(
        parts["plan"],
        {kind: content for kind, content in parts.items() if kind != "plan"},
        submitted_by=Who(issuer="https://a", subject="ada", name="Ada"),
        submitted_at_ms=at_ms,
        expires_at_ms=at_ms,
        editors=(EditorRow(issuer="https://a", subject="ada", address=None, since_number=1),),
        comments=(),
    )


def _wide(snapshot: Snapshot, partitions: int) -> Snapshot:
    topics = tuple(
        replace(topic, partitions=tuple(replace(topic.partitions[0], partition=number) for number in range(partitions)))
        for topic in snapshot.topics
        if topic.name == "payments"
    )
    return replace(snapshot, topics=topics)
