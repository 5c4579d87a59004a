"""Which files of a Spark checkpoint a plan changes, and how: decided and proven before anything is written.

Rules: `spec/spark-checkpoints.md`, "Writing: four ways", A. The restart batch's file gets the new positions, a pending
batch's file both its ends, and the file before a committed restart batch the same positions as the restart batch,
because Spark reads it too. Later batches are dropped where the plan goes back, and with them the state that they made:
Spark would otherwise take a snapshot of the old life for one of the new life once it counts up to its version again.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from offsetwise.apply.edit import Edited, Move, edit_initial, edit_offsets
from offsetwise.apply.writing import FileChange, NumberChange
from offsetwise.errors import ApplyError, MissingError, RunningQueryError, StalePlanError, StorageError
from offsetwise.findings.codes import Code
from offsetwise.model import Checkpoint, CheckpointRequirement, Plan, ReceiptStep, WrittenFile
from offsetwise.sources.spark_checkpoint import read_from
from offsetwise.sources.spark_offset_log import GarbledError, OffsetFile, parse_offsets
from offsetwise.sources.spark_restart import Restart, decide_restart
from offsetwise.sources.storage import Entry, FolderReader

_BATCH: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_PLAN: Final = re.compile(r"offsets/(?:0|[1-9][0-9]{0,18})")
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_VERSION: Final = re.compile(r"([0-9]{1,18})(?:_([0-9A-Za-z\-]+))?\.(delta|snapshot|zip|changelog)")
_WHOLE: Final = frozenset({"snapshot", "zip"})
_CHUNK_BYTES: Final = 512
_NO_STATE: Final = frozenset({"state"})
"""Positions do not depend on state, and measuring it takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One file with other bytes."""

    path: str
    before: bytes
    after: bytes
    numbers: tuple[NumberChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """What a plan changes in a checkpoint."""

    edits: tuple[FileEdit, ...]
    dropped: tuple[str, ...]
    """Files that are left out."""
    guard: str
    """The file that, while it stands there, keeps Spark from starting: it is no offset file, and the newest one."""
    batch: int | None
    """The batch that the job goes on after; None where it starts from the initial offsets."""
    pending: int | None
    """The batch that runs again."""

    @property
    def told(self) -> str:
        """What changes, as part of a sentence."""
        numbers = sum(change.after != change.before for one in self.edits for change in one.numbers)
        dropped = sum(not path.endswith(".crc") for path in self.dropped)
        more = f" and {dropped} later file(s) left out" if dropped else ""
        return f"with {numbers} number(s) changed in {sum(bool(one.numbers) for one in self.edits)} file(s){more}"

    def written(self, *, kept_in: str | None = None) -> tuple[WrittenFile, ...]:
        """Give the files as a receipt names them: edited, dropped, and the commit that only a later run can make.

        Args:
            kept_in: The folder that originals are kept in; None where they are not touched.
        """
        edited = [
            WrittenFile(
                path=one.path,
                sha256=sha256(one.after),
                before_sha256=sha256(one.before),
                kept_as=None if kept_in is None else f"{kept_in}/{one.path}",
            )
            for one in self.edits
        ]
        dropped = [
            WrittenFile(path=path, sha256=None, kept_as=None if kept_in is None else f"{kept_in}/{path}")
            for path in self.dropped
        ]
        commit = [] if self.pending is None else [WrittenFile(path=f"commits/{self.pending}", sha256=None)]
        return (*edited, *dropped, *commit)

    def changes(self) -> tuple[FileChange, ...]:
        """Give the changes as a dry run shows them; checksums go with their files."""
        edited = (FileChange(path=one.path, what="edited", numbers=one.numbers) for one in self.edits if one.numbers)
        dropped = (FileChange(path=path, what="dropped") for path in self.dropped if not path.endswith(".crc"))
        return (*edited, *dropped)


def rewrite(plan: Plan, folder: FolderReader, *, young_s: float) -> Rewrite:
    """Decide what changes, and prove that a reader finds the planned positions afterwards.

    Args:
        plan: The plan.
        folder: The checkpoint it was drafted from.
        young_s: How long a pending batch must have been left alone, in seconds.

    Raises:
        StalePlanError: The checkpoint is not as it was when the plan was drafted.
        RunningQueryError: A query seems to run on it.
        ApplyError: The plan does not fit it, or the state that it needs is not there.
        StorageError: It cannot be read.
    """
    required = requirement(plan)
    checkpoint = read_from(Overlay(folder=folder, replaced={}, dropped=_NO_STATE), batches=0)
    _require_unmoved(checkpoint, required, folder)
    logs = _Logs.of(folder)
    restart = decide_restart(logs.planned, logs.committed)
    target = _target(plan, logs, restart)
    _refuse_running(checkpoint, folder, target.pending, young_s)
    edits = tuple(_edits(plan, folder, target))
    sums = tuple(_checksums(folder, edits))
    dropped = tuple(sorted(_dropped(folder, logs, target)))
    if dropped and target.batch is not None:
        _require_state(folder, target.batch)
    newest = max((*logs.planned, *logs.committed), default=-1)
    made = Rewrite(
        edits=(*edits, *sums),
        dropped=dropped,
        guard=f"offsets/{newest + 1}",
        batch=target.batch,
        pending=target.pending,
    )
    _prove(plan, folder, made, target)
    return made


def requirement(plan: Plan) -> CheckpointRequirement:
    """Give the checkpoint that a plan was drafted from.

    Raises:
        ApplyError: It was drafted from a group.
    """
    if plan.requirements.checkpoint is None:
        raise ApplyError(
            "The plan was drafted from a consumer group: expected a checkpoint to copy or edit, found none. "
            "Nothing was written.",
            fix="Apply it to a consumer group, or draft a plan from the checkpoint.",
        )
    return plan.requirements.checkpoint


def sha256(data: bytes) -> str:
    """Give the digest of bytes, hex."""
    return hashlib.sha256(data).hexdigest()


def later_batch(names: Mapping[str, Iterable[str]], step: ReceiptStep) -> str | None:
    """Give a file of a batch newer than any that a step left there; None where there is none.

    Args:
        names: The names in `offsets` and `commits`.
        step: What was written.
    """
    kept = [int(one.path[8:]) for one in step.files if one.sha256 is not None and _PLAN.fullmatch(one.path)]
    newest = max(kept, default=-1)
    for log, found in names.items():
        for name in found:
            if _BATCH.fullmatch(name) and int(name) > newest:
                return f"{log}/{name}"
    return None


def guard_path(step: ReceiptStep) -> str:
    """Give the file that guards a checkpoint while a step is undone: newer than any plan that the step knows."""
    known = [int(one.path[8:]) for one in step.files if _PLAN.fullmatch(one.path)]
    return f"offsets/{max(known, default=-1) + 1}"


def crc_of(data: bytes) -> bytes:
    """Make the `.crc` file that Hadoop keeps beside a local file: a CRC32 per 512 bytes, big-endian."""
    starts = range(0, len(data), _CHUNK_BYTES)
    sums = b"".join(zlib.crc32(data[at : at + _CHUNK_BYTES]).to_bytes(4, "big") for at in starts)
    return b"crc\0" + _CHUNK_BYTES.to_bytes(4, "big") + sums


def crc_path(path: str) -> str:
    """Give the path of a file's checksum."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logs:
    planned: tuple[int, ...]
    committed: tuple[int, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, folder: FolderReader) -> _Logs:
        found: dict[str, tuple[int, ...]] = {}
        names: set[str] = set()
        for log in ("commits", "offsets"):
            try:
                entries = folder.entries(log)
            except MissingError:
                entries = ()
            found[log] = tuple(sorted(int(one.name) for one in entries if _BATCH.fullmatch(one.name)))
            names |= {f"{log}/{one.name}" for one in entries}
        return cls(planned=found["offsets"], committed=found["commits"], names=frozenset(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where the job goes on."""

    batch: int | None
    """Its end is where reading goes on; None for the initial offsets."""
    pending: int | None
    """The batch that runs again."""
    previous: int | None
    """The file before, which Spark reads too when the batch is committed."""
    drop_above: int | None = None
    """Batches above are dropped; None where none is."""


def _target(plan: Plan, logs: _Logs, restart: Restart) -> _Target:
    if plan.rewind_to is not None:
        return _rewound(plan.rewind_to, logs)
    if not restart.known and restart.last_planned is not None:
        raise _unfit("a checkpoint that says where the job goes on, found one that does not")
    if plan.dropped_batch not in (None, restart.reruns):
        raise _unfit(f"batch {plan.dropped_batch}, which the plan leaves out, to be planned and not committed")
    if restart.reruns is None:
        return _Target(batch=restart.starts_after, pending=None, previous=restart.previous)
    if plan.dropped_batch is not None:
        before = [batch for batch in logs.planned if restart.starts_after is not None and batch < restart.starts_after]
        return _Target(
            batch=restart.starts_after,
            pending=None,
            previous=before[-1] if before else None,
            drop_above=-1 if restart.starts_after is None else restart.starts_after,
        )
    if not any(point.batch == restart.reruns for position in plan.positions for point in position.restart[1:]):
        raise _unfit(
            f"both ends of batch {restart.reruns}, which is planned and not committed, found in the plan only its start"
        )
    return _Target(batch=restart.starts_after, pending=restart.reruns, previous=None)


def _rewound(batch: int, logs: _Logs) -> _Target:
    if batch not in logs.planned or batch not in logs.committed:
        raise _unfit(f"batch {batch} to be retained in offsets/ and commits/, found it gone")
    before = [each for each in logs.planned if each < batch]
    if batch > 0 and batch - 1 not in before:
        raise _unfit(f"offsets/{batch - 1}, which Spark reads when it goes on after batch {batch}, found it gone")
    return _Target(batch=batch, pending=None, previous=before[-1] if before else None, drop_above=batch)


def _require_unmoved(checkpoint: Checkpoint, required: CheckpointRequirement, folder: FolderReader) -> None:
    facts = (
        ("query id", required.job_id, checkpoint.job_id),
        ("last planned batch", required.last_planned_batch, checkpoint.last_planned_batch),
        ("last committed batch", required.last_committed_batch, checkpoint.last_committed_batch),
    )
    for what, expected, found in facts:
        if expected != found:
            raise _stale(f"{folder.uri}: expected {what} {expected} as reviewed, found {found}.")
    read = folder.read_many(dict.fromkeys(path for path, _ in required.files))
    for path, digest in required.files:
        data = read[path]
        if isinstance(data, StorageError):
            raise _stale(f"{folder.uri}/{path}: expected it as reviewed, found that it cannot be read: {data.problem}")
        if sha256(data) != digest:
            raise _stale(f"{folder.uri}/{path}: expected the bytes that were reviewed, found others.")


def _refuse_running(checkpoint: Checkpoint, folder: FolderReader, pending: int | None, young_s: float) -> None:
    for problem in checkpoint.problems:
        if problem.code == Code.READER_SUSPECTED:
            raise RunningQueryError(f"{folder.uri}: {problem.message} Nothing was written.", fix=problem.fix)
    if pending is None:
        return
    for entry in folder.entries("offsets", details=True):
        if entry.name == str(pending) and entry.modified_s is not None:
            age_s = time.time() - entry.modified_s
            if age_s < young_s:
                raise RunningQueryError(
                    f"{folder.uri}: expected the query to be stopped, found that batch {pending} was planned "
                    f"{max(age_s, 0):.0f} seconds ago and is not committed: it may be running. Nothing was written.",
                    fix=f"Stop the query, wait until {young_s:.0f} seconds have passed, then apply again.",
                )


def _edits(plan: Plan, folder: FolderReader, target: _Target) -> Iterator[FileEdit]:
    starts = _starts(plan)
    start = _offsets(folder, target.batch)
    pending = _offsets(folder, target.pending)
    lines: dict[str, tuple[Move, ...]] = {}
    for source, moves in starts.items():
        line = start[1].source(source) if start is not None else None
        if line is not None and line.kind is not None:
            lines[source] = moves
            continue
        path = f"sources/{source}/0"
        data = _read(folder, path)
        edited = edit_initial(data, source, moves, subject=path)
        yield FileEdit(path=path, before=data, after=edited.data, numbers=edited.changes)
    if target.previous is not None:
        yield from _previous(folder, target.previous, lines)
    if start is not None:
        yield _edited(f"offsets/{target.batch}", start, lines)
    if pending is not None and target.pending is not None:
        yield _edited(f"offsets/{target.pending}", pending, _ends(plan, target.pending))


def _starts(plan: Plan) -> dict[str, tuple[Move, ...]]:
    made: defaultdict[str, list[Move]] = defaultdict(list)
    for one in plan.positions:
        name = f"{one.topic}-{one.partition}"
        point = one.restart[0] if one.restart else None
        if (point is None) != (one.old_offset is None) or (
            point is not None and (point.new, point.old) != (one.new_offset, one.old_offset)
        ):
            raise _unfit(f"one new and one old number of {name} in the plan, found that it contradicts itself")
        if plan.rewind_to is not None and point is not None and point.batch != plan.rewind_to:
            raise _unfit(f"{name} as it stood after batch {plan.rewind_to}, found it as after batch {point.batch}")
        made[one.source].append(
            Move(
                topic=one.topic,
                partition=one.partition,
                old=one.old_offset,
                new_topic=one.new_topic,
                new=one.new_offset,
                added=one.old_offset is None,
            )
        )
    return {source: tuple(moves) for source, moves in made.items()}


def _ends(plan: Plan, pending: int) -> dict[str, tuple[Move, ...]]:
    """Give the ends of the pending batch; a partition that is new gets its start, so that the batch has none of it."""
    made: defaultdict[str, list[Move]] = defaultdict(list)
    for one in plan.positions:
        points = [point for point in one.restart[1:] if point.batch == pending]
        if one.restart and not points:
            continue
        old, new = (points[0].old, points[0].new) if points else (None, one.new_offset)
        if new is None:
            raise _unfit(f"the end of batch {pending} in {one.topic}-{one.partition}, found none in the plan")
        made[one.source].append(
            Move(
                topic=one.topic,
                partition=one.partition,
                old=old,
                new_topic=one.new_topic,
                new=new,
                added=old is None,
            )
        )
    return {source: tuple(moves) for source, moves in made.items()}


def _previous(folder: FolderReader, batch: int, lines: Mapping[str, tuple[Move, ...]]) -> Iterator[FileEdit]:
    found = _offsets(folder, batch)
    if found is None:
        return
    here: dict[str, tuple[Move, ...]] = {}
    for source, moves in lines.items():
        line = found[1].source(source)
        if line is not None and line.kind == "kafka":
            topics = {one.topic for one in line.offsets}
            wanted = (move for move in moves if move.topic in topics)
            here[source] = tuple(
                Move(topic=m.topic, partition=m.partition, old=None, new_topic=m.new_topic, new=m.new, added=True)
                for m in wanted
            )
    yield _edited(f"offsets/{batch}", found, here)


def _edited(path: str, found: tuple[bytes, OffsetFile], moves: Mapping[str, Iterable[Move]]) -> FileEdit:
    for source in found[1].sources:
        if source.kind == "kafka" and source.offsets and source.id not in moves:
            raise _unfit(f"a position for source {source.id} of {path}, found none in the plan")
    edited: Edited = edit_offsets(found[0], moves, subject=path)
    return FileEdit(path=path, before=found[0], after=edited.data, numbers=edited.changes)


def _offsets(folder: FolderReader, batch: int | None) -> tuple[bytes, OffsetFile] | None:
    if batch is None:
        return None
    data = _read(folder, f"offsets/{batch}")
    try:
        return data, parse_offsets(data)
    except GarbledError as error:
        raise _unfit(f"offsets/{batch} to be an offset file, found it garbled: {error}") from error


def _checksums(folder: FolderReader, edits: Iterable[FileEdit]) -> Iterator[FileEdit]:
    paths = {crc_path(one.path): one for one in edits}
    for path, data in folder.read_many(dict.fromkeys(paths)).items():
        if isinstance(data, MissingError):
            continue
        if isinstance(data, StorageError):
            raise data
        yield FileEdit(path=path, before=data, after=crc_of(paths[path].after))


def _dropped(folder: FolderReader, logs: _Logs, target: _Target) -> Iterator[str]:
    if target.drop_above is None:
        return
    for log, batches in (("offsets", logs.planned), ("commits", logs.committed)):
        for batch in batches:
            if batch > target.drop_above:
                path = f"{log}/{batch}"
                yield path
                if crc_path(path) in logs.names:
                    yield crc_path(path)
    for path, _ in folder.walk("state"):
        name = path.rpartition("/")[2]
        matched = _VERSION.fullmatch(name.removeprefix(".").removesuffix(".crc"))
        if matched is not None and int(matched[1]) > target.drop_above + 1:
            yield f"state/{path}"


def _require_state(folder: FolderReader, batch: int) -> None:
    """Refuse when some store cannot be loaded as it was after a batch."""
    version = batch + 1
    stores: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    names: set[str] = set()
    for path, _ in folder.walk("state"):
        store, _, name = path.rpartition("/")
        parts = store.split("/")
        matched = _VERSION.fullmatch(name)
        if matched is None or len(parts) < 2 or not all(map(_NUMBER.fullmatch, parts[:2])):
            continue
        stores[store][int(matched[1])].add(matched[3])
        names.add(f"{'/'.join(parts[:2])}/{name}")
    for store, versions in stores.items():
        whole = max((each for each, kinds in versions.items() if each <= version and kinds & _WHOLE), default=0)
        lost = next((each for each in range(whole + 1, version + 1) if each not in versions), None)
        if lost is not None:
            raise _unfit(f"the state after batch {batch}, found version {lost} of state/{store} gone")
    for operator, partition, unique in _unique_ids(folder, batch):
        wanted = [f"{operator}/{partition}/{version}_{unique}.{kind}" for kind in ("zip", "changelog")]
        if not names.intersection(wanted):
            raise _unfit(f"the state that commits/{batch} names, found state/{wanted[0]} gone")


def _unique_ids(folder: FolderReader, batch: int) -> Iterator[tuple[str, int, str]]:
    lines = _read(folder, f"commits/{batch}").decode("utf-8").splitlines()
    try:
        value = json.loads(lines[1]) if len(lines) > 1 and lines[1].strip() else {}
        for operator, partitions in (value.get("stateUniqueIds") or {}).items():
            for partition, ids in enumerate(partitions):
                yield from ((operator, partition, unique) for unique in _texts(ids))
    except (ValueError, AttributeError, TypeError) as error:
        raise _unfit(f"commits/{batch} to name its state, found it garbled") from error


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """A folder as it will be: other bytes in some files, and some files gone."""

    folder: FolderReader
    replaced: Mapping[str, bytes]
    dropped: frozenset[str] = field(default_factory=frozenset)

    @property
    def uri(self) -> str:
        """The folder below."""
        return self.folder.uri

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        """Give the names in a folder without what is dropped."""
        prefix = f"{folder}/" if folder else ""
        found = self.folder.entries(folder, details=details)
        return tuple(one for one in found if prefix + one.name not in self.dropped)

    def read_many(self, files: Mapping[str, int | None]) -> dict[str, bytes | StorageError]:
        """Read whole files, with their other bytes."""
        below = {path: size for path, size in files.items() if path not in self.replaced and path not in self.dropped}
        gone = MissingError("expected a file, found it dropped.", fix="")
        made: dict[str, bytes | StorageError] = dict.fromkeys(files, gone)
        made |= self.folder.read_many(below)
        return made | {path: data for path, data in self.replaced.items() if path in files}

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        """Give the files below without those that are dropped."""
        for path, size in self.folder.walk(folder):
            if f"{folder}/{path}" not in self.dropped:
                yield path, size


def _prove(plan: Plan, folder: FolderReader, made: Rewrite, target: _Target) -> None:
    """Read the checkpoint as it will be, and refuse unless a restart finds exactly the planned positions."""
    after = read_from(
        Overlay(
            folder=folder,
            replaced={one.path: one.after for one in made.edits},
            dropped=_NO_STATE.union(made.dropped),
        ),
        batches=0,
    )
    found = {
        (source.id, each.topic, each.partition): (each.offset, each.planned_offset)
        for source in after.sources
        for each in source.positions
    }
    wanted = {}
    for one in plan.positions:
        ends = [point.new for point in one.restart[1:] if point.batch == target.pending]
        new_end = one.new_offset if target.pending is not None and not one.restart else None
        wanted[one.source, one.new_topic, one.partition] = (one.new_offset, ends[0] if ends else new_end)
    if found != wanted or after.reruns_batch != target.pending:
        differing = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
        shown = ", ".join(f"{topic}-{partition} of source {source}" for source, topic, partition in differing[:3])
        raise _unfit(f"a restart at the planned positions, found another one at {shown or 'another batch'}")


def _read(folder: FolderReader, path: str) -> bytes:
    data = folder.read_many({path: None})[path]
    if isinstance(data, StorageError):
        raise data
    return data


def _stale(problem: str) -> StalePlanError:
    return StalePlanError(
        f"{problem} Nothing was written.", fix="The job has run since: compare again and draft a new plan."
    )


def _unfit(expected: str) -> ApplyError:
    return ApplyError(f"The plan does not fit its checkpoint: expected {expected}. Nothing was written.", fix=_REDRAFT)


_REDRAFT: Final = "Compare again, and draft the plan from what stands there now."
