"""The rules by which jobs of an engine migrate, as a plan needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from offsetwise.config import JobTraits
from offsetwise.engines.registry import keeper_of, named_by
from offsetwise.errors import PlanError
from offsetwise.model import Checkpoint, Comparison, GateCheck, PartitionComparison, Plan, Prediction, Problem
from offsetwise.plan.settings import Settings
from offsetwise.plan.ways import Objections, Way, unopposed
from offsetwise.registry import ENGINES, MIGRATES


def _nothing_tells(plan: Plan) -> Iterable[GateCheck]:  # noqa: ARG001 - the signature of every engine
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingOffsets:
    """The form in which a job without positions takes starting offsets: of its engine, or of what a target writes."""

    text: Callable[[Plan], str]
    """Returns the text of the file; raises a `PlanError` or an `ApplyError` if the form cannot express the plan."""
    about: str
    """The purpose of the file, for people."""
    suffix: str
    """The extension of the file, without the dot."""
    mime: str
    draft: Callable[[str, str], str]
    """Returns an unusable draft of the file, from its text and a sentence that says that it is not approved."""
    name: str = "starting-offsets"
    """The part of the file name after the plan's name."""
    objections: Objections = unopposed
    """Objections to starting this way."""
    by_source: bool = False
    """Whether the file has offsets for each source, so that two sources may read one partition."""
    use: str | None = None
    """The line of the job that takes the file, with `{0}` for its name; None if a person copies from the file."""
    began_as_told: Callable[..., Any] | None = None
    """Compares the file and a checkpoint of the new job with the plan. Takes the plan, the step, the file's bytes, the
    readers and the checkpoint's URI; returns an `apply.verification.seen.Seen` for each position."""
    evidence_of_start: str = ""
    """What shows where the job began, as the end of a sentence, if `began_as_told` is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A job whose code names another stream, where its state has places in the shards of the old one."""

    checkpoint: Checkpoint
    old: str
    """The quoted name of the old stream, with its cluster if both streams have the same name."""
    new: str
    """The quoted name of the new stream, likewise."""
    highest: int
    """The highest shard number in the state."""
    numbers: tuple[int, ...]
    """The shard numbers of the new stream."""


class TakeBack(Protocol):
    """Return a checkpoint's positions to an earlier point of its job."""

    def __call__(self, checkpoint: Checkpoint, point: int, /, *, files: tuple[tuple[str, str], ...] = ()) -> Checkpoint:
        """Return the checkpoint with the positions of an earlier point.

        Args:
            checkpoint: The current checkpoint.
            point: The point, by the engine's number.
            files: (relative path, SHA-256 in hex) of the files that the earlier positions were read from.

        Raises:
            PlanError: The checkpoint does not keep that point, or it is not an earlier one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewinding:
    """How a job goes back to an earlier point that its checkpoint still has."""

    to: TakeBack
    file: Callable[[int], str]
    """Returns the name of the file with the positions of a point."""
    read_to: Callable[[Checkpoint], Mapping[tuple[str, str, int], int]]
    """Returns how far the job had read when it stopped, by source, topic and partition."""
    objections: Callable[[JobTraits], Iterable[Problem]]
    """Yields objections if the sink is not taken back as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """The migration rules of one engine."""

    predict: Callable[[Comparison, tuple[PartitionComparison, ...]], Prediction]
    """Returns what an unedited start on the new cluster does, given the rows that have a position."""
    ways: tuple[Way, ...] = ()
    """The engine's own ways, to targets of every engine. Targets for this engine alone have their own ways."""
    like: str | None = None
    """The engine whose ways are also shown, because jobs of this engine may become jobs of that one."""
    starting_offsets: StartingOffsets | None = None
    """None if a job cannot start from given offsets."""
    elsewhere: Callable[[Elsewhere], str] | None = None
    """Returns what a job does if only its stream's name is changed; None if the engine reads no such stream."""
    parameters: type[Settings] = Settings
    """The keys of `--set` about jobs of the engine: decisions of a draft, named as in `DraftRequest`."""
    rewinding: Rewinding | None = None
    """None if its checkpoints keep no earlier point."""
    stopped: Callable[[Plan], Iterable[GateCheck]] = _nothing_tells
    """Returns checks whether the job is stopped, as far as the positions show it."""


def moving_of(engine: str) -> Moving:
    """Return the migration rules of an engine, by its name in files.

    Raises:
        VersionError: This release has no engine of that name.
    """
    keeper = keeper_of(engine)
    result: Moving = named_by(f"{keeper.moving}:MOVING") if keeper.moving else MIGRATES.load(engine)
    return result


def engine_like(engine: str) -> str | None:
    """Return the engine that jobs of this one may become jobs of; None if there is none, or its plug-in is missing."""
    like = moving_of(engine).like
    return like if like in ENGINES else None


def rewinding_of(engine: str) -> Rewinding | None:
    """Return how jobs of an engine, or of the engine in `like`, go back to an earlier point; None if they cannot."""
    own, like = moving_of(engine).rewinding, engine_like(engine)
    return own if like is None else own or moving_of(like).rewinding


def starting_offsets_of(engine: str) -> StartingOffsets | None:
    """Return the starting offsets of an engine, or of the engine in `like`; None if neither takes any."""
    form, like = moving_of(engine).starting_offsets, engine_like(engine)
    return form if form is not None or like is None else moving_of(like).starting_offsets


def require_rewinding(checkpoint: Checkpoint) -> Rewinding:
    """Return how the job of a checkpoint goes back to an earlier point.

    Raises:
        PlanError: Its engine keeps no earlier point.
    """
    rewinding = moving_of(checkpoint.engine).rewinding
    if rewinding is None:
        raise PlanError(
            f"{checkpoint.uri}: expected earlier positions to go back to, found a checkpoint of {checkpoint.engine}, "
            "which keeps none. Nothing was drafted.",
            fix="Draft without --set rewind_to.",
        )
    return rewinding
