"""How the jobs of an engine move: what a plan asks of it."""

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


def _nothing_tells(plan: Plan) -> Iterable[GateCheck]:  # noqa: ARG001 - as every engine's
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingOffsets:
    """How a job without positions of its own is told where it begins: by its engine, or by what one target writes."""

    text: Callable[[Plan], str]
    """What the file says; a `PlanError` or an `ApplyError` where it cannot say it."""
    about: str
    """What the file is for, for people."""
    suffix: str
    """Of the file's name, without the dot."""
    mime: str
    draft: Callable[[str, str], str]
    """From the text, and a sentence that says nobody agreed to it, makes one that no job begins by."""
    name: str = "starting-offsets"
    """Of the file, behind the plan's."""
    objections: Objections = unopposed
    """What speaks against beginning so."""
    by_source: bool = False
    """Whether each source has offsets of its own in it, so that two may read one partition."""
    use: str | None = None
    """The line of the job that takes the file, whose name stands for `{0}`; None where a person copies from it."""
    began_as_told: Callable[..., Any] | None = None
    """Holds the file, and a checkpoint of the new job, against the plan. It is given the plan, the step, the file's
    bytes, the readers and the checkpoint's URI, and returns an `apply.verification.seen.Seen` for each position."""
    evidence_of_start: str = ""
    """What tells where the job began, as the end of a sentence; where nothing holds it so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A job whose code names another stream, where its state has places in the shards of the old one."""

    checkpoint: Checkpoint
    old: str
    """The name of the old stream in quotes, with that of its cluster where both streams have one name."""
    new: str
    """Likewise of the new one."""
    highest: int
    """The highest number of a shard that the state knows."""
    numbers: tuple[int, ...]
    """Those of the new stream's."""


class TakeBack(Protocol):
    """Takes a checkpoint's positions back to an earlier point of its job."""

    def __call__(self, checkpoint: Checkpoint, point: int, /, *, files: tuple[tuple[str, str], ...] = ()) -> Checkpoint:
        """Return the checkpoint with the positions of then.

        Args:
            checkpoint: As it is.
            point: The point, by the engine's number.
            files: (relative path, SHA-256 in hex) of the files that the positions of then were read from.

        Raises:
            PlanError: The checkpoint does not keep that point, or not as an earlier one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewinding:
    """How a job goes back to an earlier point that its checkpoint still has."""

    to: TakeBack
    file: Callable[[int], str]
    """Names the file that the positions of a point stand in."""
    read_to: Callable[[Checkpoint], Mapping[tuple[str, str, int], int]]
    """Returns how far the job had read when it stopped, by source, topic and partition."""
    objections: Callable[[JobTraits], Iterable[Problem]]
    """What speaks against it where the sink is not taken back too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """How the jobs of one engine move."""

    predict: Callable[[Comparison, tuple[PartitionComparison, ...]], Prediction]
    """Returns what an unedited start on the new cluster does, given the rows that have a position."""
    ways: tuple[Way, ...] = ()
    """Its own ways to write targets of every engine. Targets of this one alone bring theirs."""
    like: str | None = None
    """The engine whose ways are shown for its jobs as well, because they may become jobs of that one."""
    starting_offsets: StartingOffsets | None = None
    """None where a job cannot be told to begin at offsets."""
    elsewhere: Callable[[Elsewhere], str] | None = None
    """Returns what it does with nothing but another stream's name; None where it reads no such stream."""
    parameters: type[Settings] = Settings
    """What `--set` says about jobs of the engine: decisions of a draft, under the names of `DraftRequest`."""
    rewinding: Rewinding | None = None
    """None where its checkpoints keep no earlier point to go back to."""
    stopped: Callable[[Plan], Iterable[GateCheck]] = _nothing_tells
    """Returns whether the positions show that the job is stopped."""


def moving_of(engine: str) -> Moving:
    """Return how the jobs of an engine move, by its name in files.

    Raises:
        VersionError: This release has no engine of that name.
    """
    keeper = keeper_of(engine)
    result: Moving = named_by(f"{keeper.moving}:MOVING") if keeper.moving else MIGRATES.load(engine)
    return result


def engine_like(engine: str) -> str | None:
    """Return the engine that jobs of one may become jobs of; None where there is none, or its plug-in is absent."""
    like = moving_of(engine).like
    return like if like in ENGINES else None


def rewinding_of(engine: str) -> Rewinding | None:
    """Return how the jobs of an engine, or of the one that they may become jobs of, go back; None where none can."""
    own, like = moving_of(engine).rewinding, engine_like(engine)
    return own if like is None else own or moving_of(like).rewinding


def starting_offsets_of(engine: str) -> StartingOffsets | None:
    """Return how the jobs of an engine, or of the one that they may become jobs of, are told to begin at offsets."""
    form, like = moving_of(engine).starting_offsets, engine_like(engine)
    return form if form is not None or like is None else moving_of(like).starting_offsets


def require_rewinding(checkpoint: Checkpoint) -> Rewinding:
    """Return how the job of a checkpoint goes back.

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
