"""The interface of engines: names for people, and how checkpoints are recognized and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from re import Pattern
from typing import Generic, Protocol, TypeVar

from offsetwise.engines.batch_files import BatchFiles
from offsetwise.engines.repaired import Repaired
from offsetwise.model import BatchSource, Checkpoint, Details, RetainedCheckpoint
from offsetwise.storage.folders import Entry, FolderReader, Tree

V_co = TypeVar("V_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """A request to read the current state of one checkpoint."""

    uri: str
    """The requested URI: the folder, or the engine's `file` in it."""
    folder: Tree | None
    """The opened folder; None for a URI that is no path."""
    entries: tuple[Entry, ...] | None
    """The entries of the folder, with details; None if the engine's `file` was requested."""
    roots: Sequence[str] | None
    """The folders that may be read; None if a person named the path."""
    history: int
    """How many of the newest entries to read of a history that the engine keeps, such as retained batches; 0 reads only
    what decides the restart."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The values of the engine's `options`, by name; without those that were not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOption(Generic[V_co]):
    """An option for reading checkpoints of one engine; refused with every other engine."""

    name: str
    """The key in `ReadRequest.options`."""
    clause: str
    """A clause that says it was requested: "uids of operators were named"."""
    noun: str
    """The noun for its value, with the article: "the uids"."""
    default: V_co
    parse: Callable[[object], V_co]
    """Converts a requested value."""

    def of(self, request: ReadRequest) -> V_co:
        return self.parse(request.options[self.name]) if self.name in request.options else self.default


class ReadsCheckpoint(Protocol):
    def __call__(
        self,
        uri: str,
        folder: Tree | None,
        entries: tuple[Entry, ...] | None,
        *,
        roots: Sequence[str] | None,
        batches: int,
        uids: Sequence[str],
        committer: None,
    ) -> Checkpoint:
        """Read the current checkpoint.

        Args:
            uri: As in a `ReadRequest`.
            folder: As in a `ReadRequest`.
            entries: As in a `ReadRequest`.
            roots: As in a `ReadRequest`.
            batches: The `history` of a `ReadRequest`.
            uids: Always empty: an option of Flink's reader.
            committer: Always None: an option of Spark's reader.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It cannot be used.
        """


def _without_reader(uri: str, *_: object, **__: object) -> Checkpoint:
    raise TypeError(f"{uri}: its engine has neither `reader` nor `read`")


def _no_retained(folder: FolderReader, entries: Sequence[Entry]) -> tuple[RetainedCheckpoint, ...]:  # noqa: ARG001
    return ()


class Parts(Protocol):
    """Returns the checkpoints of a URI that is no folder."""

    def __call__(self, uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the URI of each.

        Raises:
            StorageError: It cannot be read.
        """


def _no_repairs(checkpoint: Checkpoint) -> tuple[tuple[str, Mapping[str, str]], ...]:  # noqa: ARG001 - as above
    return ()


def _one_part(uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:  # noqa: ARG001 - the field's signature
    return (uri,)


def _no_folder(entries: Sequence[Entry]) -> bool:  # noqa: ARG001 - it reads files or a service
    return False


def _no_file(part: str, data: bytes) -> bool:  # noqa: ARG001 - the signature of the field
    return False


def _nothing_else(folder: FolderReader, entries: Sequence[Entry]) -> None:  # noqa: ARG001 - the signature of the field
    return None


def _none_newer(uri: str, number: int, near: Iterable[str]) -> tuple[int | None, bool]:  # noqa: ARG001 - as above
    return None, False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The modification time of a file, by its file system."""

    path: str
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointReading:
    """A checkpoint at one time, with the times of its files."""

    checkpoint: Checkpoint
    read_at_ms: int
    """When its files' times were read, by this machine's clock."""
    initial: tuple[BatchSource, ...] = ()
    """The start of batch 0 of each Kafka source, if it is readable."""
    newest: Written | None = None
    """The last written file of its logs; None if there are none, or the file system has no times."""
    newest_plan: Written | None = None
    """The file of the newest planned batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A table of an engine's data, as plain text."""

    columns: tuple[str, ...]
    """Column names; first those of texts, then those of numbers."""
    texts: int
    """How many of the columns hold texts."""
    rows: tuple[tuple[str, ...], ...]


def _no_listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:  # noqa: ARG001 - nothing but positions
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine: a system that keeps positions of a stream, with everything that other stages need.

    A new engine is a folder of `plugins`, and a line in `builtin` that loads it.
    """

    name: str
    """The name in files and in the JSON of commands."""
    label: str
    """The name for people."""
    moving: str = ""
    """For a plug-in's engine, the module with its migration rules as `MOVING`: a `plan.moving.Moving`. Those of
    built-in engines are registered by `builtin`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointEngine(Engine):
    """An engine that keeps positions in folders, its checkpoints."""

    what: str
    """The noun for one of its checkpoints, with the article."""
    holds: str
    """What the folder of a checkpoint holds, by which it is recognized."""
    job: str
    """The noun for the id in `Checkpoint.job_id`."""
    source_name: Pattern[str]
    """The allowed names of a source in a plan, where nothing is a path; matched in full."""
    reader: Callable[[ReadRequest], Checkpoint] | None = None
    """Reads the current state of a checkpoint. Raises StorageError if it cannot be read, CheckpointError if it cannot
    be used."""
    read: ReadsCheckpoint = _without_reader
    """The predecessor of `reader`, called if there is none: plug-ins that were built for it go on working."""
    options: tuple[ReadOption[object], ...] = ()
    """The options that its `reader` takes."""
    recognises: Callable[[Sequence[Entry]], bool] = _no_folder
    """Returns whether a folder with these names is one of its checkpoints."""
    details: type[Details] = Details
    """Its own data of a checkpoint: a dataclass whose fields are in files next to the common ones."""
    plans_batches: bool = False
    """Whether it works in batches that it plans and commits, so that one may run again."""
    batch_files: Callable[[FolderReader, int], BatchFiles] | None = None
    """Reads the raw files of one batch; None if it has no such files."""
    listings: Callable[[Checkpoint], tuple[Listing, ...]] = _no_listings
    """Returns the tables that `inspect` prints below the positions."""
    screen: str = ""
    """For a plug-in's engine, the module with its part of the screens, a `console.engine_screens.EngineScreen`; "" for
    none. Those of built-in engines are registered by their plug-ins."""
    reading: Callable[[FolderReader, Checkpoint], CheckpointReading] | None = None
    """Reads from its folder what the Checkpoint screen and a verification need besides a checkpoint; None if
    nothing."""
    file: str | None = None
    """A file whose path may be given instead of its folder's."""
    repair: Callable[[FolderReader, str, Mapping[str, str]], Repaired] | None = None
    """Computes a repair of one of its checkpoints, from the kind and the settings; raises UnrepairableError, also for a
    kind of another engine. None if there are no repairs."""
    repairs_to_try: Callable[[Checkpoint], Iterable[tuple[str, Mapping[str, str]]]] = _no_repairs
    """Returns the kinds of repair that may fit a checkpoint, each with settings to try it with."""
    own_groups: str = ""
    """The prefix of consumer groups that its jobs read with and never commit to; empty for none."""
    commits_to_group: bool = False
    """Whether its jobs may commit their positions to a consumer group that the operator names."""
    schemes: frozenset[str] = frozenset()
    """Schemes of URIs that are no paths and name one of its checkpoints."""
    reads_files: bool = False
    """Whether its checkpoints may be files of any name. A pin is then not a file in a folder."""
    recognises_file: Callable[[str, bytes], bool] = _no_file
    """For an engine that reads files: returns whether a file is one of its checkpoints, from the part that its URI
    names after `#`, empty for none, and its bytes, empty if unreadable. A file that no engine recognizes goes to the
    first of them, which reports the problem."""
    parts: Parts = _one_part
    """Returns its checkpoints in a file or behind such a URI."""
    instead: Callable[[FolderReader, Sequence[Entry]], tuple[str, str] | None] = _nothing_else
    """Returns what an unrecognized folder is, and what to give instead; None if unknown."""
    retained: Callable[[FolderReader, Sequence[Entry]], tuple[RetainedCheckpoint, ...]] = _no_retained
    """Returns the complete checkpoints in the folder of a job, newest first."""
    deeper: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many levels are searched below folders of these names, if its checkpoints are deep in them."""
    newest: Callable[[Iterable[str]], list[str]] = list
    """Returns from the URIs of checkpoints the newest one of each job."""
    newer: Callable[[str, int, Iterable[str]], tuple[int | None, bool]] = _none_newer
    """Returns the number of the newest checkpoint of its job, None if none is newer; and whether the job's folder was
    searched. Takes the URI, the number, and other paths where that folder may be."""
