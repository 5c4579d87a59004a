"""What every stage may ask of an engine: what people call it, and how its checkpoints are known and read."""

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
    """What is asked of an engine when one of its checkpoints is read as it stands now."""

    uri: str
    """What was asked for: the folder, or the engine's `file` in it."""
    folder: Tree | None
    """What is at the URI, open; None of a URI that is no path."""
    entries: tuple[Entry, ...] | None
    """What stands in the folder, with details; None where the engine's `file` was asked for."""
    roots: Sequence[str] | None
    """The folders that may be read; None when a person named the path."""
    history: int
    """How many of the newest entries to read of a history that the engine keeps beside the restart; 0 for none."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What was asked for of the engine's own `options`, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOption(Generic[V_co]):
    """What can be asked for when checkpoints of one engine are read; with any other engine it is refused."""

    name: str
    """As in `ReadRequest.options`."""
    asked: str
    """What was done by who asks for it, as a part of a sentence: "uids of operators were named"."""
    given: str
    """What is left away by who does not, with the article: "the uids"."""
    default: V_co
    """What holds where nobody asks for it."""
    parse: Callable[[object], V_co]
    """Returns what a given value means."""

    def of(self, request: ReadRequest) -> V_co:
        return self.parse(request.options[self.name]) if self.name in request.options else self.default


class ReadsCheckpoint(Protocol):
    """Reads one checkpoint, as an engine did before there were a `ReadRequest` and options of its own."""

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
        """Read a checkpoint as it stands now.

        Args:
            uri: As in a `ReadRequest`.
            folder: As there.
            entries: As there.
            roots: As there.
            batches: Its `history`.
            uids: Empty: an option of Flink's.
            committer: None: an option of Spark's.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It cannot be used.
        """


def _without_reader(uri: str, *_: object, **__: object) -> Checkpoint:
    raise TypeError(f"{uri}: its engine has neither `reader` nor `read`")


def _no_retained(folder: FolderReader, entries: Sequence[Entry]) -> tuple[RetainedCheckpoint, ...]:  # noqa: ARG001
    return ()


class Parts(Protocol):
    """Returns which checkpoints a URI names that is no folder."""

    def __call__(self, uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the URI of each.

        Raises:
            StorageError: It cannot be read.
        """


def _no_repairs(checkpoint: Checkpoint) -> tuple[tuple[str, Mapping[str, str]], ...]:  # noqa: ARG001 - as above
    return ()


def _one_part(uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:  # noqa: ARG001 - as of most
    return (uri,)


def _no_folder(entries: Sequence[Entry]) -> bool:  # noqa: ARG001 - it reads files or a service
    return False


def _no_file(part: str, data: bytes) -> bool:  # noqa: ARG001 - as of most
    return False


def _nothing_else(folder: FolderReader, entries: Sequence[Entry]) -> None:  # noqa: ARG001 - told by others
    return None


def _none_newer(uri: str, number: int, near: Iterable[str]) -> tuple[int | None, bool]:  # noqa: ARG001 - as above
    return None, False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """When a file was written, as its file system says."""

    path: str
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointReading:
    """A checkpoint as it stood at one time, with what a person needs to follow it."""

    checkpoint: Checkpoint
    read_at_ms: int
    """When its files' times were looked at, by this machine's clock."""
    initial: tuple[BatchSource, ...] = ()
    """Where batch 0 began, of each Kafka source, where that is readable."""
    newest: Written | None = None
    """The file of its logs that was written last; None where there are none, or the file system tells no times."""
    newest_plan: Written | None = None
    """The file of the newest planned batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A table of what an engine keeps, as plain text."""

    columns: tuple[str, ...]
    """Their names; at first those of texts, then those of numbers."""
    texts: int
    """How many of the columns hold texts."""
    rows: tuple[tuple[str, ...], ...]


def _no_listings(checkpoint: Checkpoint) -> tuple[Listing, ...]:  # noqa: ARG001 - nothing but positions
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine: what keeps positions of a stream, and everything the other stages need to know of it.

    A new one is a folder of `plugins`, and what loads it in `builtin`.
    """

    name: str
    """As files and the JSON of commands call it."""
    label: str
    """As people call it."""
    moving: str = ""
    """Of a plug-in's engine, the module that says how its jobs move, as `MOVING`: a `plan.moving.Moving`. Those of the
    product's own are registered by `builtin`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointEngine(Engine):
    """One that keeps positions in folders, its checkpoints."""

    what: str
    """What one of its checkpoints is, with the article."""
    holds: str
    """What the folder of one holds, to be known by."""
    job: str
    """What an id in `Checkpoint.job_id` is the id of."""
    source_name: Pattern[str]
    """What a source may be called in a plan, in which nothing is a path; matched in full."""
    reader: Callable[[ReadRequest], Checkpoint] | None = None
    """Reads one of its checkpoints as it stands now. Raises StorageError where it cannot be read, CheckpointError where
    it cannot be used."""
    read: ReadsCheckpoint = _without_reader
    """What reads them where there is no `reader`, as in distributions that were built before there were any."""
    options: tuple[ReadOption[object], ...] = ()
    """What its `reader` can be asked for."""
    recognises: Callable[[Sequence[Entry]], bool] = _no_folder
    """Whether a folder with these names is one of its checkpoints."""
    details: type[Details] = Details
    """What only it keeps in a checkpoint: a dataclass whose fields stand in files beside those of every checkpoint."""
    plans_batches: bool = False
    """Whether it works in batches that it plans and commits, so that one may run again."""
    batch_files: Callable[[FolderReader, int], BatchFiles] | None = None
    """Reads the files of one batch as they stand; None of one that has no such files."""
    listings: Callable[[Checkpoint], tuple[Listing, ...]] = _no_listings
    """What `inspect` prints below the positions."""
    screen: str = ""
    """Of a plug-in's engine, the module that draws its part of the screens, a `console.engine_screens.EngineScreen`; ""
    for none. Those of the product's own are registered by their plug-ins."""
    reading: Callable[[FolderReader, Checkpoint], CheckpointReading] | None = None
    """Reads what its part of the Checkpoint screen and a verification need beside a checkpoint, from its folder; None
    where that is nothing."""
    file: str | None = None
    """A file whose path may be given in place of its folder's."""
    repair: Callable[[FolderReader, str, Mapping[str, str]], Repaired] | None = None
    """Decides a repair of one of its checkpoints, of a kind and with its settings; None where there is none."""
    repairs_to_try: Callable[[Checkpoint], Iterable[tuple[str, Mapping[str, str]]]] = _no_repairs
    """Which kinds of repair may mend a checkpoint, each with settings to try it with."""
    own_groups: str = ""
    """What the names of the consumer groups begin with that its jobs read with and never commit to; empty for none."""
    commits_to_group: bool = False
    """Whether its jobs may commit their positions to a consumer group of the operator's naming."""
    schemes: frozenset[str] = frozenset()
    """Schemes of URIs that are no paths and name one of its checkpoints."""
    reads_files: bool = False
    """Whether its checkpoints may be files of any name. What is pinned of one is not a file in a folder then."""
    recognises_file: Callable[[str, bytes], bool] = _no_file
    """Whether a file is one of its checkpoints, of an engine that reads files: by the part that its URI names behind
    `#`, empty for none, and by its bytes, empty where it cannot be read. A file that no engine recognises goes to the
    first of them, which says what is wrong with it."""
    parts: Parts = _one_part
    """Which of its checkpoints a file or such a URI holds."""
    instead: Callable[[FolderReader, Sequence[Entry]], tuple[str, str] | None] = _nothing_else
    """What a folder is that no engine recognises, and what to give in its place; None where it cannot tell."""
    retained: Callable[[FolderReader, Sequence[Entry]], tuple[RetainedCheckpoint, ...]] = _no_retained
    """The whole checkpoints in the folder of a job, newest first."""
    deeper: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many levels are looked into below folders of these names, where its checkpoints lie deep in them."""
    newest: Callable[[Iterable[str]], list[str]] = list
    """Of the URIs of checkpoints the newest one of each job."""
    newer: Callable[[str, int, Iterable[str]], tuple[int | None, bool]] = _none_newer
    """The number of the newest checkpoint of its job, None where none is newer; and whether the job's folder was
    looked through. Given are its URI, its number, and other places to look for that folder."""
