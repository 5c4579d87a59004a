"""Where a job stands after its plan was applied: as planned, gone on from there, elsewhere, or not to be seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.apply.object_store import COPY_MARKER
from offsetwise.apply.run import apply
from offsetwise.apply.verification import decided, verify, watch
from offsetwise.engines.engine import CheckpointReading
from offsetwise.model import (
    Cluster,
    Receipt,
    StepState,
    Target,
    TopicPartition,
    Turnout,
    Verification,
)
from offsetwise.position import offset_of
from tests.apply.plans import COPY, IN_PLACE, PENDING, STARTING
from tests.apply.worlds import TO_GROUP, Stage, World, stage
from tests.with_cases import with_cases

CONFIRMED, MOVED_ON, DIFFERENT, UNKNOWN = Turnout


class Bucket(World):
    """Shows a local copy as if it stood in a bucket."""

    def __init__(self, staged: Stage, uri: str, place: Path) -> None:
        super().__init__(live=staged.world.live, clusters=staged.world.clusters, groups=staged.world.groups)
        self._uri, self._place = uri, str(place)

    def with_times(self, uri: str) -> CheckpointReading:
        return super().with_times(uri.replace(self._uri, self._place))

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        return super().files(folder.replace(self._uri, self._place), paths)


class Applied:
    """A plan that was applied, and what a job does to it since."""

    def __init__(self, folder: Path, *targets: Target, sample: str = "spark-4.0.0-agg-rocksdb") -> None:
        self.staged = stage(folder, *targets, sample=sample)
        self.receipt: Receipt = apply(self.staged.order(), self.staged.receipt, self.staged.tools()).receipt
        self.place = Path(self.receipt.steps[0].place)

    def look(self, checkpoint: str | None = None, *, job: str | None = None) -> Verification:
        now = "2026-11-21T12:00:00Z"
        return verify(self.receipt, self.staged.world, verified_at=now, checkpoint=checkpoint, job=job)

    def turnouts(self, checkpoint: str | None = None) -> set[Turnout]:
        return {each.turnout for each in self.look(checkpoint).positions}

    @property
    def last(self) -> int:
        return max(int(path.name) for path in (self.place / "offsets").iterdir() if path.name.isdigit())

    def batch(self, add: int, *, committed: bool = True, edit: Callable[[str], str] = str) -> None:
        """Let the job run one more batch that ends `add` further on."""
        last = self.last
        head, conf, *lines = (self.place / "offsets" / str(last)).read_text().split("\n")

        def moved(line: str) -> str:
            topics = json.loads(line)
            return json.dumps({t: {p: n + add for p, n in of.items()} for t, of in topics.items()})

        text = "\n".join([head, conf, *(moved(line) if line.startswith("{") else line for line in lines)])
        (self.place / "offsets" / str(last + 1)).write_text(edit(text))
        if committed:
            self.commit(last + 1)

    def commit(self, batch: int) -> None:
        known = next(path for path in (self.place / "commits").iterdir() if path.name.isdigit())
        shutil.copy(known, self.place / "commits" / str(batch))

    def purge(self, below: int) -> None:
        """Remove old batches, as Spark does."""
        for log in ("offsets", "commits"):
            for path in (self.place / log).iterdir():
                name = path.name.removeprefix(".").removesuffix(".crc")
                if name.isdigit() and int(name) < below:
                    path.unlink()


@pytest.fixture(params=[COPY, IN_PLACE], ids=str)
def applied(tmp_path: Path, request: pytest.FixtureRequest) -> Applied:
    return Applied(tmp_path, request.param)


class TestACheckpoint:
    def test_before_the_start_is_what_was_approved(self, applied: Applied) -> None:
        made = applied.look()

        assert {each.turnout for each in made.positions} == {CONFIRMED}
        assert not made.started
        assert not decided(made)
        assert made.exit_code == 0

    def test_after_its_first_batch_the_job_has_moved_on_from_exactly_there(self, applied: Applied) -> None:
        applied.batch(5)

        made = applied.look()
        assert {each.turnout for each in made.positions} == {MOVED_ON}
        assert {each.found for each in made.positions} == {offset_of(each.planned) + 5 for each in made.positions}
        assert decided(made)

    def test_a_planned_batch_is_not_yet_a_beginning(self, applied: Applied) -> None:
        applied.batch(5, committed=False)

        assert applied.turnouts() == {CONFIRMED}
        assert not applied.look().started

    def test_a_partition_without_new_records_stands_where_it_was(self, applied: Applied) -> None:
        applied.batch(0)

        made = applied.look()
        assert {each.turnout for each in made.positions} == {CONFIRMED}
        assert made.started

    def test_a_batch_that_ends_before_the_place_is_different(self, applied: Applied) -> None:
        applied.batch(-5)

        made = applied.look()
        assert {each.turnout for each in made.positions} == {DIFFERENT}
        assert made.exit_code == 5

    def test_a_batch_that_leaves_a_partition_out_is_different(self, applied: Applied) -> None:
        applied.batch(5, edit=lambda text: text.replace('"1":', '"9":'))

        told = {each.topic_partition: each.turnout for each in applied.look().positions}
        assert told[TopicPartition("orders", 1)] is DIFFERENT
        assert told[TopicPartition("orders", 0)] is MOVED_ON

    def test_whose_written_files_are_gone_is_different(self, applied: Applied) -> None:
        written = [one.path for one in applied.receipt.steps[0].files if one.sha256 is not None]
        first, *_, last = sorted(path for path in written if path.startswith("offsets/") and path[8:].isdigit())
        (applied.place / first).unlink()

        (told,) = {each.told for each in applied.look().positions}
        assert told == f"{applied.place}/{first} was written, and cannot be read now."
        assert applied.turnouts() == {DIFFERENT}

        (applied.place / last).unlink()
        applied.receipt = replace(applied.receipt, steps=(replace(applied.receipt.steps[0], files=()),))
        assert applied.turnouts() == {DIFFERENT}, "whatever the receipt says of files"

    def test_checksums_beside_the_files_tell_nothing_of_where_a_job_begins(self, tmp_path: Path) -> None:
        applied = Applied(tmp_path, COPY, sample=PENDING)
        checksums = [one.path for one in applied.receipt.steps[0].files if one.path.endswith(".crc")]
        assert checksums
        for path in checksums:
            (applied.place / path).write_bytes(b"of another writer")

        assert applied.turnouts() == {CONFIRMED}

    def test_other_numbers_in_the_written_file_are_different(self, applied: Applied) -> None:
        path = applied.place / "offsets" / str(applied.last)
        first = applied.staged.plan.positions[0]
        path.write_text(path.read_text().replace(f":{first.new_offset}", f":{offset_of(first.new_offset) + 1}"))

        assert DIFFERENT in applied.turnouts()

    def test_another_byte_in_the_written_file_is_different(self, applied: Applied) -> None:
        path = applied.place / "offsets" / str(applied.last)
        path.write_text(path.read_text().replace('"batchWatermarkMs":', '"batchWatermarkMs": ', 1))

        assert applied.turnouts() == {DIFFERENT}

    def test_another_query_is_different(self, applied: Applied) -> None:
        (applied.place / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')

        assert applied.turnouts() == {DIFFERENT}

    def test_whose_first_file_is_purged_is_unknown(self, applied: Applied) -> None:
        begins = applied.last
        for _ in range(3):
            applied.batch(5)
        applied.purge(begins + 1)

        made = applied.look()
        assert {each.turnout for each in made.positions} == {UNKNOWN}
        assert made.exit_code == 1

    def test_that_is_gone_is_unknown(self, applied: Applied) -> None:
        shutil.rmtree(applied.place)

        assert applied.turnouts() == {UNKNOWN}

    def test_garbled_batches_tell_nothing(self, applied: Applied) -> None:
        applied.batch(5, edit=lambda text: "garbled")  # noqa: ARG005 - whatever it was

        assert applied.turnouts() == {UNKNOWN}


def test_a_pending_batch_must_end_as_planned(tmp_path: Path) -> None:
    applied = Applied(tmp_path, COPY, sample=PENDING)
    assert applied.turnouts() == {CONFIRMED}
    assert not applied.look().started

    applied.commit(applied.last)
    made = applied.look()
    assert made.started
    assert {each.turnout for each in made.positions} <= {CONFIRMED, MOVED_ON}

    path = applied.place / "offsets" / str(applied.last)
    for point in applied.staged.plan.positions[0].restart[1:]:
        path.write_text(path.read_text().replace(f":{point.new}", f":{offset_of(point.new or 0) + 1}"))
    assert DIFFERENT in applied.turnouts()


def test_a_copy_in_a_bucket_counts_only_with_its_marker(tmp_path: Path) -> None:
    applied = Applied(tmp_path, COPY)
    uri = "s3://bucket/copy"
    receipt = replace(applied.receipt, steps=(replace(applied.receipt.steps[0], place=uri),))
    eyes = Bucket(applied.staged, uri, applied.place)

    made = verify(receipt, eyes, verified_at="now")
    assert {each.turnout for each in made.positions} == {UNKNOWN}
    assert "not a complete copy" in made.positions[0].told
    (applied.place / COPY_MARKER).write_text("{}")
    made = verify(receipt, eyes, verified_at="now")
    assert {each.turnout for each in made.positions} == {CONFIRMED}


class TestAGroup:
    @pytest.fixture
    def group(self, tmp_path: Path) -> Applied:
        return Applied(tmp_path, TO_GROUP)

    def commit(self, group: Applied, change: Callable[[int], int | None]) -> None:
        held = group.staged.groups.offsets["etl"]
        for key, one in list(held.items()):
            offset = change(one.offset)
            if offset is None:
                del held[key]
            else:
                held[key] = replace(one, offset=offset)

    @with_cases(
        ("change", "turnout"),
        [
            (lambda offset: offset, CONFIRMED),
            (lambda offset: offset + 5, MOVED_ON),
            (lambda _: 100_000, MOVED_ON),
            (lambda _: 100_001, DIFFERENT),
            (lambda offset: offset - 1, DIFFERENT),
            (lambda _: None, DIFFERENT),
        ],
        ids=["as committed", "gone on", "at the end", "past the end", "gone back", "expired"],
    )
    def test_stands_where_it_stands(
        self, group: Applied, change: Callable[[int], int | None], turnout: Turnout
    ) -> None:
        self.commit(group, change)

        assert group.turnouts() == {turnout}

    def test_that_cannot_be_read_is_unknown(self, group: Applied) -> None:
        group.staged.groups.error = "the user is not authorised"
        assert group.turnouts() == {UNKNOWN}
        group.staged.groups.silent = True
        assert group.turnouts() == {UNKNOWN}

    def test_of_another_cluster_tells_nothing(self, group: Applied) -> None:
        group.staged.world.change(Cluster.NEW, cluster_id="other")

        (told,) = {each.told for each in group.look().positions}
        assert told == "Group 'etl' was written on the cluster id-of-new, and this is other."
        assert group.turnouts() == {UNKNOWN}

    def test_past_an_end_that_cannot_be_read_is_unknown(self, group: Applied) -> None:
        self.commit(group, lambda offset: offset + 5)
        group.staged.world.change_logs(Cluster.NEW, hw=None)
        assert group.turnouts() == {UNKNOWN}


class TestStartingOffsets:
    @pytest.fixture
    def written(self, tmp_path: Path) -> Applied:
        return Applied(tmp_path, STARTING)

    def fresh(self, written: Applied, add: int = 0) -> str:
        """Let a job begin a checkpoint of its own from the file."""
        made = written.staged.folder / "fresh"
        shutil.copytree(written.staged.source, made)
        (made / "metadata").write_text('{"id":"11111111-1111-1111-1111-111111111111"}')
        (made / ".metadata.crc").unlink(missing_ok=True)
        for path in (*(made / "offsets").iterdir(), *(made / "commits").iterdir()):
            path.unlink()
        shutil.rmtree(made / "sources", ignore_errors=True)
        offsets = {t: {p: n + add for p, n in of.items()} for t, of in json.loads(written.place.read_text()).items()}
        for source in sorted({position.source for position in written.staged.plan.positions}):
            mine = {p.new_topic for p in written.staged.plan.positions if p.source == source}
            (made / "sources" / source).mkdir(parents=True)
            line = json.dumps({topic: of for topic, of in offsets.items() if topic in mine})
            (made / "sources" / source / "0").write_bytes(b"\0v1\n" + line.encode())
        return str(made)

    def test_the_file_gives_the_planned_positions(self, written: Applied) -> None:
        assert written.turnouts() == {CONFIRMED}
        assert not written.look().started

    def test_another_file_is_different(self, written: Applied) -> None:
        written.place.write_text(written.place.read_text().replace(":", ": ", 1))
        assert written.turnouts() == {DIFFERENT}

    def test_no_file_is_unknown(self, written: Applied) -> None:
        written.place.unlink()
        assert written.turnouts() == {UNKNOWN}

    def test_a_job_that_began_there_is_confirmed(self, written: Applied) -> None:
        assert written.turnouts(self.fresh(written)) == {CONFIRMED}

    def test_a_job_that_began_elsewhere_is_different(self, written: Applied) -> None:
        assert written.turnouts(self.fresh(written, add=1)) == {DIFFERENT}

    def test_the_batches_of_a_fresh_checkpoint_are_not_those_of_the_old_one(self, tmp_path: Path) -> None:
        """The old checkpoint's pending batch has a number, and so has a batch of the new one: other batches."""
        written = Applied(tmp_path, STARTING, sample=PENDING)
        pending = written.staged.plan.positions[0].restart[1].batch
        assert pending is not None
        made, source = Path(self.fresh(written)), written.staged.source
        head, conf, *_ = (source / "offsets" / str(pending)).read_text().split("\n")
        begins = json.loads(written.place.read_text())
        for number in range(pending + 1):
            ends = {t: {p: n + 1000 + number for p, n in of.items()} for t, of in begins.items()}
            (made / "offsets" / str(number)).write_text("\n".join([head, conf, json.dumps(ends)]))
            shutil.copy(source / "commits" / str(pending - 1), made / "commits" / str(number))

        assert written.turnouts(str(made)) == {MOVED_ON}

    def test_a_source_of_another_number_is_not_the_plans(self, written: Applied) -> None:
        made = Path(self.fresh(written))
        (made / "sources" / "0").rename(made / "sources" / "1")

        assert written.turnouts(str(made)) == {DIFFERENT}

    def test_initial_offsets_that_are_garbled_tell_nothing(self, written: Applied) -> None:
        made = Path(self.fresh(written))
        shutil.copytree(made / "sources" / "0", made / "sources" / "1")
        (made / "sources" / "0" / "0").write_bytes(b"\0v1\n{")

        assert written.turnouts(str(made)) == {UNKNOWN}

    def test_a_job_that_has_not_written_its_initial_offsets_yet_is_unknown(self, written: Applied) -> None:
        begun = Path(self.fresh(written)).rename(written.staged.folder / "begun")
        for name in ("sources", "state"):
            shutil.rmtree(begun / name)
            (begun / name).mkdir()

        (told,) = {each.told for each in written.look(str(begun)).positions}
        assert told == f"{begun} has no initial offsets, so the job has not begun there yet."
        assert written.turnouts(str(begun)) == {UNKNOWN}

    def test_a_job_that_has_no_checkpoint_yet_is_unknown(self, written: Applied) -> None:
        assert written.turnouts(str(written.staged.folder / "nothing")) == {UNKNOWN}


def test_a_step_that_was_not_written_is_unknown(tmp_path: Path) -> None:
    applied = Applied(tmp_path, TO_GROUP)
    step = replace(applied.receipt.steps[0], state=StepState.FAILED)
    applied.receipt = replace(applied.receipt, steps=(step,))

    assert applied.turnouts() == {UNKNOWN}


def test_several_targets_have_begun_when_each_has(tmp_path: Path) -> None:
    applied = Applied(tmp_path, COPY, TO_GROUP)
    applied.batch(5)
    assert not applied.look().started

    held = applied.staged.groups.offsets["etl"]
    key: TopicPartition = next(iter(held))
    held[key] = replace(held[key], offset=held[key].offset + 1)
    assert applied.look().started


def test_a_watch_looks_until_the_job_has_begun(tmp_path: Path) -> None:
    applied = Applied(tmp_path, COPY)
    heard: list[Verification] = []

    made = watch(applied.look, wait=lambda: applied.batch(5), report=heard.append)

    assert len(heard) == 2
    assert made.started


def test_nothing_is_decided_while_a_position_is_unknown(tmp_path: Path) -> None:
    applied = Applied(tmp_path, COPY)
    applied.batch(5)
    made = applied.look()
    assert decided(made)

    first, *rest = made.positions
    assert not decided(replace(made, positions=(replace(first, turnout=UNKNOWN), *rest)))


def test_a_watch_ends_where_the_job_began_elsewhere(tmp_path: Path) -> None:
    applied = Applied(tmp_path, COPY)

    made = watch(applied.look, wait=lambda: applied.batch(-5), report=lambda _: None)
    assert made.exit_code == 5


def test_one_different_position_outweighs_any_unknown_one(tmp_path: Path) -> None:
    made = Applied(tmp_path, TO_GROUP).look()
    one, two, *rest = made.positions

    mixed = (replace(one, turnout=DIFFERENT), replace(two, turnout=UNKNOWN), *rest)
    assert replace(made, positions=mixed).exit_code == 5


def test_a_verification_is_a_file_like_the_others(tmp_path: Path) -> None:
    made = Applied(tmp_path, COPY).look()

    assert files.load(files.dump(made), "verification", subject="it") == made
