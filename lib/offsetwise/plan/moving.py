"""How the jobs of an engine move: what a plan asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module

from offsetwise.engines.registry import keeper_of
from offsetwise.model import Checkpoint, Comparison, GateCheck, PartitionComparison, Plan, Prediction
from offsetwise.plan.settings import Settings
from offsetwise.plan.ways import Against, Way, unopposed


def _nothing_tells(plan: Plan) -> Iterable[GateCheck]:  # noqa: ARG001 - as every engine's
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingOffsets:
    """How an engine is told where a job without positions of its own begins."""

    text: Callable[[Plan], str]
    """What the file says; a `PlanError` where it cannot say it."""
    suffix: str
    """Of the file's name, without the dot."""
    mime: str
    draft: Callable[[str, str], str]
    """From the text, and a sentence that says nobody agreed to it, makes one that no job begins by."""
    against: Against = unopposed
    """What speaks against beginning so."""
    by_source: bool = False
    """Whether each source has offsets of its own in it, so that two may read one partition."""
    use: str | None = None
    """The line of the job that takes the file, whose name stands for `{}`; None where a person copies from it."""
    verification: str | None = None
    """The module whose `began_as_told` holds the file, and a checkpoint of the new job, against the plan."""
    seen: str = ""
    """What tells where the job began, as the end of a sentence; where there is no such module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A job whose code names another stream, where its state has places in the shards of the old one."""

    checkpoint: Checkpoint
    old: str
    """The name of the old stream in quotes, with that of its cluster where both streams have one name."""
    new: str
    """Likewise of the new one."""
    seen: int
    """The highest number of a shard that the state knows."""
    shards: tuple[int, ...]
    """The numbers of the new stream's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """How the jobs of one engine move."""

    predict: Callable[[Comparison, tuple[PartitionComparison, ...]], Prediction]
    """Says what an unedited start on the new cluster does, given the rows that have a position."""
    ways: tuple[Way, ...] = ()
    """Its own ways to write targets of every engine. Targets of this one alone bring theirs."""
    like: str | None = None
    """The engine whose ways are shown for its jobs as well, because they may become jobs of that one."""
    starting_offsets: StartingOffsets | None = None
    """None where a job cannot be told to begin at offsets."""
    elsewhere: Callable[[Elsewhere], str] | None = None
    """Says what it does with nothing but another stream's name; None where it reads no such stream."""
    parameters: type[Settings] = Settings
    """What `--set` says about jobs of the engine: decisions of a draft, under the names of `DraftRequest`."""
    stopped: Callable[[Plan], Iterable[GateCheck]] = _nothing_tells
    """Says whether the positions show that the job is stopped."""


def moving_of(engine: str) -> Moving:
    """Give how the jobs of an engine move, by its name in files.

    Raises:
        VersionError: This release has no engine of that name.
    """
    made: Moving = import_module(keeper_of(engine).moving).MOVING
    return made
