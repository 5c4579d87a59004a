"""A batch that is lost before the newest one, and a topic that left: what Spark does not start with."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from offsetwise.errors import PlanError
from offsetwise.findings.register import DeclaredFinding
from offsetwise.model import Checkpoint, Target
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint, read_from
from offsetwise.plugins.spark.engine.findings import batch_missing, topic_dropped
from offsetwise.plugins.spark.engine.restart import WHOLE, lost_before
from tests.apply.plans import COPY, aged, context, drafted, journal, spark_checkpoint
from tests.plan.scene import SEEDED, comparison
from tests.plan.scene import drafted as plan_drafted
from tests.plan.test_strategies import judged
from tests.plugins.spark.folders import SAMPLES, MemoryFolder, checkpoint, orders, write
from tests.with_cases import with_cases

CASES = SAMPLES.parent / "cases"


def _read(files: dict[str, bytes], *, batches: int = 100) -> Checkpoint:
    return read_from(MemoryFolder(files), batches=batches)


def _codes(read: Checkpoint) -> list[str]:
    return [problem.code for problem in read.problems]


def _said(read: Checkpoint, code: str) -> tuple[str, str]:
    return next((problem.message, problem.fix) for problem in read.problems if problem.code == code)


def _offsets(read: Checkpoint) -> list[tuple[str, int, object, object]]:
    return [(one.topic, one.partition, one.offset, one.planned_offset) for one in read.sources[0].positions]


def _numbered(ids: list[int], committed: list[int]) -> Checkpoint:
    return _read(checkpoint({each: orders(each) for each in ids}, tuple(committed)))


class TestABatchLostBeforeTheNewest:
    @with_cases("batches", [0, 100])
    def test_blocks_and_the_job_is_where_the_last_committed_batch_ended(self, batches: int) -> None:
        whole = list(range(150, 201))
        files = checkpoint({each: orders(each) for each in (*whole, 202)}, tuple(whole))
        read = _read(files, batches=batches)

        assert _codes(read) == ["BATCH_MISSING"]
        assert _offsets(read) == [("orders", 0, 200, None), ("orders", 1, 20, None)]
        assert read.details.progress.again is None
        assert "runs again" not in read.restart
        assert "Batch 200 ended at orders-0 at 200" in read.restart
        message, fix = _said(read, "BATCH_MISSING")
        assert '"batch 201 doesn\'t exist"' in message
        assert "--set repair=drop-batch-after-gap" in fix
        assert "goes on after batch 200" in fix

    def test_with_the_file_before_lost_too_leads_to_a_new_checkpoint(self) -> None:
        read = read_checkpoint(str(CASES / "spark-38033-gap"))

        assert _codes(read) == ["BATCH_MISSING"]
        assert _offsets(read) == [("events", 0, 5200, None), ("events", 1, 5100, None)]
        fix = _said(read, "BATCH_MISSING")[1]
        assert "after batch 113257: draft with --target seeded-checkpoint" in fix
        assert "--repair" not in fix

    def test_that_is_committed_keeps_its_end(self) -> None:
        read = _numbered([5, 6, 8], [5, 6, 8])

        assert _codes(read) == ["BATCH_MISSING"]
        assert _offsets(read)[0] == ("orders", 0, 8, None)
        assert "Batch 8 ended at" in read.restart

    def test_is_judged_by_the_ids_alone(self) -> None:
        random.seed(38033)
        wrong = []
        for _ in range(400):
            first, count, lost = random.randrange(2, 10**6), random.randrange(1, 30), random.randrange(1, 4)
            whole = list(range(first, first + count))
            newest = whole[-1] + lost + 1
            holed = random.random() < 0.5 and count > 2
            kept = [each for each in whole if not holed or each != whole[count // 2]]
            read = _numbered([*kept, newest], [*kept, *([newest] if random.random() < 0.5 else [])])
            right = "BATCH_MISSING" if not holed and (lost == 1 or count >= WHOLE) else "GAP"
            if right not in _codes(read) or ({"GAP", "BATCH_MISSING"} - {right}) & set(_codes(read)):
                wrong.append((kept, newest, right, _codes(read)))

        assert wrong == []

    def test_is_none_where_a_commit_shows_that_it_ran(self) -> None:
        assert lost_before([6, 8], [6, 7]) == range(0)
        assert lost_before([6, 8], [6]) == range(7, 8)
        assert lost_before([8], [8]) == range(0)


GONE = '{"orders":{"0":200}}'
WITH_LEGACY = '{"orders":{"0":150},"legacy":{"0":155,"1":7}}'


PARTITIONS = [(topic, number) for topic in ("orders", "legacy", "a-1") for number in range(2)]


def _line(offsets: dict[tuple[str, int], int]) -> str:
    """Return the line of a source, by topic and partition."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), offset in offsets.items():
        topics.setdefault(topic, {})[str(number)] = offset
    return json.dumps(topics, separators=(",", ":"))


class TestATopicThatLeft:
    def test_a_pending_batch_that_lacks_it_blocks_and_is_not_to_be_committed(self) -> None:
        read = read_checkpoint(str(CASES / "spark-topic-gone-pending"))

        assert _codes(read) == ["TOPIC_DROPPED"]
        message, fix = _said(read, "TOPIC_DROPPED")
        assert "lacks sg-legacy-0 (at 155)" in message
        assert "failOnDataLoss=true" in message
        assert "With false" in message
        assert "--set repair=restore-topic --set topic=sg-legacy" in fix
        assert "runs again" not in read.restart

    @with_cases("batches", [0, 100])
    def test_a_committed_batch_that_lacks_it_is_said_and_blocks_nothing(self, batches: int) -> None:
        read = _read(checkpoint({3: WITH_LEGACY, 4: GONE}, (3, 4)), batches=batches)

        assert _codes(read) == ["TOPIC_LEFT"]
        assert "legacy-0 (at 155), legacy-1 (at 7), where batch 3 ended" in _said(read, "TOPIC_LEFT")[0]
        assert _offsets(read) == [("orders", 0, 200, None)]

    @with_cases("committed", [False, True], ids=["pending", "committed"])
    def test_is_named_partition_by_partition_exactly_where_the_last_batch_lacks_it(self, *, committed: bool) -> None:
        chosen = random.Random(f"left {committed}")
        code, other = ("TOPIC_LEFT", "TOPIC_DROPPED") if committed else ("TOPIC_DROPPED", "TOPIC_LEFT")
        wrong, several = [], 0
        for _ in range(200):
            before, now = ({at: chosen.randrange(900) for at in PARTITIONS if chosen.random() < 0.6} for _ in range(2))
            if not before or not now:
                continue
            read = _read(checkpoint({3: _line(before), 4: _line(now)}, (3, 4) if committed else (3,)))

            said = {problem.code: problem.message for problem in read.problems}
            gone = before.keys() - now.keys()
            named = {at for at, end in before.items() if f"{at[0]}-{at[1]} (at {end})" in said.get(code, "")}
            if (
                named != gone
                or other in said
                or (code in said) != bool(gone)
                or (gone and "runs again" in read.restart)
            ):
                wrong.append((before, now, said))
            several += len(gone) > 1
        assert wrong == []
        assert several > 50

    def test_is_named_where_the_first_batch_lacks_what_the_query_began_with(self) -> None:
        chosen = random.Random("first batch")
        wrong = []
        for _ in range(100):
            began, now = ({at: chosen.randrange(900) for at in PARTITIONS if chosen.random() < 0.6} for _ in range(2))
            if not began or not now:
                continue
            read = _read(checkpoint({0: _line(now)}, initial={"0": b"\0v1\n" + _line(began).encode()}))

            (said,) = [each.message for each in read.problems if each.code == "TOPIC_DROPPED"] or [""]
            gone = began.keys() - now.keys()
            named = {at for at, start in began.items() if f"{at[0]}-{at[1]} (at {start})" in said}
            advised = [each.fix for each in read.problems if "start the job" in each.fix or "batch commit" in each.fix]
            if named != gone or ("runs again" in read.restart) is bool(gone) or (gone and advised):
                wrong.append((began, now, said, advised))
        assert wrong == []

    def test_single_partitions_are_named(self) -> None:
        read = _read(checkpoint({3: orders(1, 2), 4: '{"orders":{"0":200}}'}, (3,)))

        assert _codes(read) == ["TOPIC_DROPPED"]
        assert "lacks orders-1 (at 2)" in _said(read, "TOPIC_DROPPED")[0]

    def test_a_topic_that_joined_is_none(self) -> None:
        assert "TOPIC_DROPPED" not in _codes(_read(checkpoint({3: GONE, 4: WITH_LEGACY}, (3,))))
        assert "TOPIC_LEFT" not in _codes(_read(checkpoint({3: GONE, 4: WITH_LEGACY}, (3, 4))))


@with_cases("target", ["spark-checkpoint", "spark-checkpoint-in-place"])
@with_cases("kind", [batch_missing, topic_dropped])
def test_what_keeps_the_checkpoint_is_refused_at_draft(kind: DeclaredFinding[...], target: str) -> None:
    made = comparison(findings=(kind.finding("Spark does not start."),))

    with pytest.raises(PlanError, match=f"{kind.code}: Spark does not start"):
        plan_drafted(made, Target(kind=target))

    assert not judged(made)["checkpoint-copy"].applies


@with_cases("kind", [batch_missing, topic_dropped])
def test_a_checkpoint_that_begins_anew_is_drafted(kind: DeclaredFinding[...]) -> None:
    made = comparison(findings=(kind.finding("Spark does not start."),))
    plan = plan_drafted(made, SEEDED)

    assert plan.targets == (SEEDED,)
    assert plan.prediction.effect == "exception"
    assert "Spark does not start" in plan.prediction.told


def test_a_copy_after_a_topic_has_left_is_written_and_read_again(tmp_path: Path) -> None:
    source = aged(write(checkpoint({3: WITH_LEGACY, 4: GONE}, (3, 4)), tmp_path / "source"))
    plan = drafted(str(source))
    with journal(tmp_path) as one:
        spark_checkpoint.write(plan, COPY, context(tmp_path, journal=one))

    assert '"orders":{"0":203}' in (tmp_path / "out/copy/offsets/4").read_text()
    assert '"legacy":{"0":155,"1":7}' in (tmp_path / "out/copy/offsets/3").read_text()
    assert _codes(read_checkpoint(str(tmp_path / "out/copy"))) == ["TOPIC_LEFT"]


class TestABatchUnderAnotherSpelling:
    @with_cases(("name", "what"), [("008", "leading zeros"), ("+8", "a sign"), ("0000000008", "leading zeros")])
    @with_cases("log", ["offsets", "commits"])
    def test_is_what_spark_lists_and_does_not_find(self, log: str, name: str, what: str) -> None:
        files = checkpoint({6: orders(6), 7: orders(7), 8: orders(8)}, (6, 7, 8))
        files[f"{log}/{name}"] = files.pop(f"{log}/8")
        read = _read(files)

        message, fix = _said(read, "CHECKPOINT_DAMAGED")
        assert set(_codes(read)) <= {"CHECKPOINT_DAMAGED", "PENDING_BATCH"}
        assert _codes(read).count("CHECKPOINT_DAMAGED") == 1
        assert f"{log}/{name} is a number spelled with {what}" in message
        assert f"opens {log}/8, which is not there" in message
        assert f"Rename it to {log}/8 in a copy of the folder" in fix

    def test_besides_the_right_one_is_said_as_what_it_is(self) -> None:
        files = checkpoint({6: orders(6), 7: orders(7)}, (6, 7))
        read = _read(files | {"offsets/007": files["offsets/7"]})

        assert _codes(read) == ["CHECKPOINT_DAMAGED"]
        message, fix = _said(read, "CHECKPOINT_DAMAGED")
        assert "opens offsets/7, which is there as well" in message
        assert fix == "Delete offsets/007 in a copy of the folder if offsets/7 is right."


@with_cases(
    ("files", "repair"),
    [
        ({"commits/7": b""}, "--set repair=remove-damaged-commit"),
        ({"commits/7": b"v1\n{"}, "--set repair=remove-damaged-commit"),
        ({"metadata": b""}, "--set repair=restore-metadata"),
        ({"metadata": None}, "--set repair=restore-metadata"),
    ],
)
def test_damage_that_a_repair_mends_leads_to_it(files: dict[str, bytes | None], repair: str) -> None:
    whole = checkpoint({6: orders(6), 7: orders(7)}, (6, 7))
    damaged = {path: data for path, data in {**whole, **files}.items() if data is not None}

    assert repair in _said(_read(damaged), "CHECKPOINT_DAMAGED")[1]
