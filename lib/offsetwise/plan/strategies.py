from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from shlex import quote

from offsetwise.config import JobTraits, Migration
from offsetwise.findings import describe, worded
from offsetwise.findings.target_position import replay_not_tolerated
from offsetwise.model import CheckpointSource, Comparison, Problem, Snapshot, Target
from offsetwise.plan.moving import engine_like, moving_of, rewinding_of, starting_offsets_of
from offsetwise.plan.refusals import sources
from offsetwise.plan.request import traits_of
from offsetwise.plan.target import OFFSETS, TargetRole, TargetType, Where, target_type, target_types
from offsetwise.plan.ways import Way, pending, unproven
from offsetwise.ports.stream import of_position
from offsetwise.position import OpaquePosition, of_one_stream
from offsetwise.wording import number
from offsetwise.wording.terms import in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    kind: Way
    why_not: tuple[str, ...]
    commands: tuple[str, ...]
    objections: tuple[Problem, ...] = ()
    """Those of `why_not` that the way raises itself; drafting its target does not check them."""
    questions: tuple[str, ...] = ()
    """Facts that the migration file does not state and that would decide."""

    @property
    def applies(self) -> bool:
        return not self.why_not

    @property
    def drafts(self) -> bool:
        return self.applies and not self.kind.elsewhere

    def refused(self, why: str) -> Strategy:
        return self if self.why_not else replace(self, why_not=(why,))


def way_of(target: str, engine: str, *, rewound: bool = False) -> Way:
    """Return the way with this target, for jobs of an engine.

    Args:
        target: The target's name.
        engine: The engine's name.
        rewound: Whether the job goes back to an earlier batch, which is a separate way.
    """
    ways = ways_of(engine)
    return next(way for way in ways if (way.rewinds if rewound else way.target == target))


def ways_of(engine: str) -> list[Way]:
    """Return the ways in which jobs of an engine can move, in order, each name once.

    They are the engine's own ways, those of the engine that its jobs may become jobs of, and those for all engines.
    """
    own, like = _own(engine), engine_like(engine)
    used = {name for way in own for name in (way.name, way.instead_of)}
    others = (*(() if like is None else _own(like)), *_offered(None))
    return sorted((*own, *(way for way in others if way.name not in used)), key=lambda way: way.order)


def _own(engine: str) -> tuple[Way, ...]:
    return (*moving_of(engine).ways, *_offered(engine))


def _offered(engine: str | None) -> tuple[Way, ...]:
    return tuple(way for spec in target_types() for way in spec.ways if way.engine == engine)


def judge_strategies(
    comparison: Comparison,
    migration: Migration,
    *,
    checkpoint: str | None = None,
    sink_rewound: bool = False,
    migration_file: str = "migration.yaml",
) -> tuple[Strategy, ...]:
    """Evaluate every way for a comparison, by rules that need no plan. Only a draft checks everything.

    Args:
        comparison: The comparison, before any decision.
        migration: The migration.
        checkpoint: The checkpoint's name in it.
        sink_rewound: Whether a person states that the sink is taken back with the job.
        migration_file: The file name in the commands.
    """
    job = traits_of(migration, comparison.kept_in, checkpoint)
    subject = _subject(comparison, migration, checkpoint)
    strategies = []
    for way in ways_of(comparison.engine):
        if not _holds(target_type(way.target), migration.target.stream):
            continue
        terms = terms_for(way, migration)
        problems = tuple(way.objections(comparison, job))
        all_problems = (*_reasons(way, comparison, job, sink_rewound=sink_rewound), *problems)
        reasons, objections = ([worded(problem, terms) for problem in some] for some in (all_problems, problems))
        strategies.append(
            Strategy(
                kind=_named(way, comparison).worded(terms),
                why_not=tuple(dict.fromkeys(reason.message for reason in reasons)),
                commands=_commands(way, comparison, subject, migration_file, job),
                objections=tuple(objections),
                questions=tuple(in_words(question, terms) for question in way.questions(comparison, job)),
            )
        )
    return tuple(strategies)


def _named(way: Way, comparison: Comparison) -> Way:
    named = any(read.target == way.target for read in comparison.services)
    return replace(way, elsewhere="") if named else way


def terms_for(way: Way, migration: Migration) -> Mapping[str, str]:
    return {} if target_type(way.target).streams == {OFFSETS} else migration.terms


def targets_of(way: Way, comparison: Comparison, new: Snapshot) -> tuple[Target, ...]:
    """Return the default targets of a plan for a way; empty if the name of one is unknown.

    A group is the namesake of the job's group, or else the first group of the new cluster. A table is that of the
    application itself, if the way belongs to its engine.
    """
    targets = []
    for name in (way.target, *((way.also_writes,) if way.also_writes is not None else ())):
        kind = target_type(name)
        known = kind.addresses(comparison, new)
        if kind.address is not None and not known:
            return ()
        targets.append(Target(kind=name, group=known[0] if kind.address is not None else None))
    return tuple(targets)


def _holds(kind: TargetType, stream: str) -> bool:
    """Return whether ways to a target are shown for a migration to a stream.

    Targets that hold only Kafka's offsets are shown too, so that the reason against them is.
    """
    return not kind.streams or not kind.streams.isdisjoint({OFFSETS, stream})


def against_target(
    target: str, comparison: Comparison, job: JobTraits, *, rewound: bool, sink_rewound: bool
) -> tuple[Problem, ...]:
    """Return the objections to a target, without those about single partitions."""
    read = () if comparison.checkpoint is None else comparison.checkpoint.sources
    of_several = [*filter(attrgetter("cluster"), read)]
    problems = [
        *_against_stream(target, comparison),
        *(_against_one_of_several(target, of_several) if of_several else ()),
        *(
            Problem(code=finding.code, message=finding.message, fix=finding.remedy)
            for finding in (comparison.findings if target_type(target).role is TargetRole.STATE else ())
            if describe(finding.code).continuing
        ),
        *target_type(target).objections(comparison, job, sink_rewound=sink_rewound),
    ]
    if rewound and not sink_rewound:
        rewinding = rewinding_of(comparison.engine)
        problems += () if rewinding is None else rewinding.objections(job)
        if job.tolerates_replay is not True:
            problems.append(
                replay_not_tolerated.problem(
                    "Going back reads records again, and the job is not stated to tolerate it.",
                    fix="Take the sink back too (--sink-rewound), or state `tolerates_replay: true` for the job.",
                )
            )
    return tuple(problems)


def _against_stream(target: str, comparison: Comparison) -> Iterator[Problem]:
    """Yield objections to positions of a stream that a target does not hold, or that a job's state cannot switch to."""
    kind = target_type(target)
    moved = next((row for row in comparison.partitions if not of_one_stream(row.old_offset, row.place_there)), None)
    if moved is not None and (kind.role is TargetRole.STATE or OFFSETS not in kind.streams):
        message = (
            f"It holds positions of the stream that the job reads now, such as {number(moved.old_offset)}, and the new "
            "cluster is of another stream: the job there begins with a source and a state of its own."
        )
        at_offsets = "" if starting_offsets_of(comparison.engine) is None else ", or --target starting-offsets"
        fix = f"Write where the new job begins: --target consumer-group:NAME{at_offsets}."
        yield sources.problem(message, fix=fix)
        return
    there = (row for row in comparison.partitions if isinstance(row.place_there, OpaquePosition))
    other = next((row.old_offset or row.place_there for row in there), None)
    stream = None if other is None else of_position(other)
    if other is not None and kind.streams and (stream is None or stream.name not in kind.streams):
        message = f"It holds Kafka offsets, and the job is at positions of another stream, such as {other}."
        yield sources.problem(message, fix="Write a target that takes positions of that stream.")


def _against_one_of_several(target: str, of_several: Iterable[CheckpointSource]) -> Iterator[Problem]:
    """A source that keeps positions on several clusters moves only with its state, which keeps those on the others."""
    kind = target_type(target)
    if kind.moves_one_of_several or kind.role is TargetRole.TRANSACTIONS:
        return
    for source in of_several:
        yield sources.problem(
            f"The DynamicKafkaSource {source.id!r} keeps positions on other clusters than {source.cluster!r} too, "
            "and would lose them.",
            fix="Write to a copy of its savepoint alone: --target flink-savepoint.",
        )


def left_out(comparison: Comparison) -> int | None:
    """Return the polluted step that an edit leaves out; None if none is known to be polluted."""
    polluted = any(describe(finding.code).of_pending for finding in comparison.findings)
    return comparison.checkpoint.details.progress.again if polluted and comparison.checkpoint is not None else None


def _reasons(way: Way, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
    if way.translates:
        yield from against_target(way.target, comparison, job, rewound=way.rewinds, sink_rewound=sink_rewound)
        yield from unproven(comparison, job)
        if target_type(way.target).role is TargetRole.STATE and not way.rewinds and left_out(comparison) is None:
            yield from pending(comparison)


def _subject(comparison: Comparison, migration: Migration, name: str | None) -> str:
    if comparison.checkpoint is None:
        return f"--group {quote(comparison.group or 'GROUP')}"
    uri = comparison.checkpoint.uri
    result = name or next(
        (checkpoint.name for checkpoint in migration.checkpoints if checkpoint.uri == uri), "CHECKPOINT"
    )
    return f"--checkpoint {quote(result)}"


def _written(kind: TargetType, comparison: Comparison, job: JobTraits) -> str:
    return kind.name if kind.address is None else f"{kind.name}:{kind.example(comparison, job)}"


def _commands(way: Way, comparison: Comparison, subject: str, path: str, job: JobTraits) -> tuple[str, ...]:
    file = quote(way.migration_file or path)
    written = [
        _written(target_type(name), comparison, job) for name in (way.target, way.also_writes) if name is not None
    ]
    targets = " ".join(f"--target {quote(target)}" for target in written)
    output = " --output DIR" if target_type(way.target).where is Where.OUTPUT else ""
    return (
        *way.stop,
        f"offsetwise draft --migration {file} {subject} {targets}{way.options} --author NAME --out plan.json",
        "offsetwise sign plan.json --key reviewer --as REVIEWER --out plan.approval.json",
        f"offsetwise apply plan.json --migration {file} --approval plan.approval.json --trust reviewer.pub{output} "
        "--receipt receipt.json --execute",
        f"offsetwise verify receipt.json --migration {file}",
        *(way.start if way.start_of is None else way.start_of(job)),
    )
