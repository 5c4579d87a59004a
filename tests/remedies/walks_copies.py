"""Remedies of copies, on disks and in object stores, and of the people who decide about a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from offsetwise.apply import reversal
from offsetwise.apply.disk import Disk
from offsetwise.approval import demo, keygen
from offsetwise.model import Plan, ReceiptStep
from tests.apply.plans import COPY, context, drafted, journal, recorded, spark_checkpoint
from tests.apply.test_object_store import Failing
from tests.apply.test_object_store import _context as in_store
from tests.apply.worlds import stage
from tests.approval.signed import forged, judged, said, trusting
from tests.plugins.spark.folders import checkpoint, orders
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_apply import anew, run
from tests.stores import S3

T = TypeVar("T")
OTHER_BUCKET = "walked"


@walk("apply/reversal.py::_check_back", "put it back by hand")
def written_to_after_the_rollback(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    run(staged)()
    theirs = Path(str(staged.output)) / "theirs"

    class Meanwhile(Disk):
        """Somebody writes to the output, once, as soon as the copy is gone."""

        def remove_tree(self, path: str) -> None:
            super().remove_tree(path)
            theirs.parent.mkdir(parents=True, exist_ok=True)
            theirs.touch()

    disk = Meanwhile()

    def put_back() -> None:
        theirs.unlink()
        theirs.parent.rmdir()

    return Steps(lambda: reversal.rollback(staged.back(), staged.tools(disk)), put_back)


@walk("apply/copies.py::copy_at_rest", "Stop the job, compare again")
def job_that_writes_during_the_copy(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)

    class Meanwhile(Disk):
        def link(self, original: str, new: str) -> bool:
            (staged.source / "offsets" / "7").write_bytes(b"x")
            return super().link(original, new)

    return Steps(run(staged, Meanwhile()), lambda: None, anew(scene, COPY))


@walk("apply/copying.py::_locations", "on the same file system")
def output_in_a_store(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    local, staged.output = staged.output, "s3://bucket/out/copy"
    roots = (*staged.migration.write_roots, "s3://bucket/out")
    staged.migration = staged.migration.model_copy(update={"write_roots": roots})
    return Steps(run(staged), lambda: setattr(staged, "output", local))


@walk("apply/fitting.py::unfit", "draft the plan from what is there now")
def batch_that_was_purged(scene: Scene) -> Steps:
    source = recorded("spark-4.0.0-agg-rocksdb", scene.folder)
    plan = drafted(str(source), rewind_to=4)
    (source / "offsets" / "4").unlink()
    return Steps(lambda: _copied(plan, scene), lambda: None, lambda: _copied(drafted(str(source)), scene))


def _copied(plan: Plan, scene: Scene) -> object:
    with journal(scene.folder) as made:
        return spark_checkpoint.write(plan, COPY, context(scene.folder, journal=made)) and None


# Copies in an object store.
STORE = "apply/object_store.py::"
FILES = checkpoint({0: orders(10), 1: orders(20)}, (0, 1)) | {f"state/0/0/{version}.delta": b"x" for version in (1, 2)}


class InStore:
    """A checkpoint in a bucket, and a plan of a copy beside it."""

    def __init__(self, scene: Scene) -> None:
        self.bucket: S3 = scene.request.getfixturevalue("s3")
        self.folder = scene.folder
        self.plan = drafted(self.bucket.put("source", FILES))

    def written(
        self, disk: Disk | None = None, *, plan: Plan | None = None, receipt: str = "a", output: str | None = None
    ) -> ReceiptStep:
        """Make the copy."""
        with journal(self.folder, name=receipt) as made:
            given = in_store(self.plan, made, disk, output)
            given = replace(given, write_roots=(*given.write_roots, f"s3://{OTHER_BUCKET}/out"))
            return spark_checkpoint.write(plan or self.plan, COPY, given)

    def taken_back(self, *, receipt: str = "a") -> ReceiptStep:
        """Take the copy back, from however far it came."""
        with journal(self.folder, name=receipt) as made:
            record = made.record(0)
            step = record.done or record.intended
            assert step is not None
            return spark_checkpoint.undo(self.plan, step, in_store(self.plan, made))


class Meanwhile(Disk):
    """Does something, once, before or after the objects are copied."""

    def __init__(self, before: Callable[[], object] = lambda: None, after: Callable[[], object] = lambda: None) -> None:
        self.before, self.after = before, after

    def call(self, name: str, path: str, action: Callable[[], T]) -> T:
        if name != "copy":
            return super().call(name, path, action)
        self.before()
        made = super().call(name, path, action)
        self.after()
        return made


@walk(STORE + "_Bucket._ask", "Then run the same command again: it continues from here")
def store_out_of_reach(scene: Scene) -> Steps:
    made, third_call = InStore(scene), Failing(3)
    return Steps(lambda: made.written(third_call) and None, lambda: None)


@walk(STORE + "_Bucket._ask", "If the store was out of reach, run the same command again")
def connection_reset(scene: Scene) -> Steps:
    made, first_call = InStore(scene), Failing(1)
    return Steps(lambda: made.written(first_call) and None, lambda: None)


@walk(STORE + "_Bucket._ask", "an --output in a bucket that allows both")
def bucket_without_conditional_writes(scene: Scene) -> Steps:
    made = InStore(scene)

    class Refusing(Disk):
        """Refuses them in one bucket, as some stores do."""

        def call(self, name: str, path: str, action: Callable[[], T]) -> T:
            if name == "put-if-absent" and OTHER_BUCKET not in path:
                raise NotImplementedError("A header you provided implies functionality that is not implemented")
            return super().call(name, path, action)

    def in_another() -> object:
        made.bucket.client.create_bucket(Bucket=OTHER_BUCKET)
        made.taken_back()
        return made.written(Refusing(), receipt="b", output=f"s3://{OTHER_BUCKET}/out/copy") and None

    return Steps(lambda: made.written(Refusing()) and None, lambda: None, in_another)


@walk("apply/publish.py::went_on", "Keep it.", name="copy_in_a_store_that_a_query_went_on_with")
def query_on_a_copy_in_a_store(scene: Scene) -> Steps:
    made = InStore(scene)
    made.written()
    made.bucket.put("out/copy", {"offsets/2": FILES["offsets/1"]})

    def failback() -> object:
        uri = f"{made.bucket.root}/out/copy"
        return made.written(plan=drafted(uri), receipt="b", output=f"{made.bucket.root}/out/failback") and None

    return Steps(lambda: made.taken_back() and None, lambda: None, failback)


@walk(STORE + "_fill", "Stop the job, roll this back")
def job_that_writes_to_the_store(scene: Scene) -> Steps:
    made = InStore(scene)
    disk = Meanwhile(lambda: made.bucket.put("source", {"offsets/2": FILES["offsets/1"]}))

    def anew_from_there() -> object:
        made.taken_back()
        return made.written(plan=drafted(f"{made.bucket.root}/source"), receipt="b") and None

    return Steps(lambda: made.written(disk) and None, lambda: None, anew_from_there)


@walk(STORE + "_fill", "Roll back, then apply again")
def object_that_somebody_removed(scene: Scene) -> Steps:
    made = InStore(scene)
    disk = Meanwhile(after=lambda: made.bucket.delete("out/copy/state/0/0/1.delta"))
    return Steps(
        lambda: made.written(disk) and None,
        lambda: made.taken_back() and None,
        lambda: made.written(receipt="b") and None,
    )


# People.
@walk("approval/judging.py::_verified", "Make a key with `offsetwise keygen`")
def approved_with_the_demo_key(_: Scene) -> Steps:
    anybodys, own = demo.demo_key(), keygen(subject="rita@example.org")
    return Steps(
        lambda: judged(forged(anybodys, dict), policy=trusting(anybodys)),
        lambda: None,
        lambda: judged(said(own), policy=trusting(own)),
    )
