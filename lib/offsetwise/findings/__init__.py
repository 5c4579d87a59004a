"""Findings: stable codes for problems and facts worth knowing, and the pure checks that decide them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from offsetwise.findings.case import Case, JobStatement, MigrationCase, TopicCase
from offsetwise.findings.logs import topic_missing
from offsetwise.findings.register import (
    DeclaredFinding,
    Fact,
    FindingKind,
    Said,
    Stage,
    blocks_translated,
    decided,
    describe,
    finding,
    findings,
    severity_of,
    worded,
)
from offsetwise.findings.target_position import chosen_at_start
from offsetwise.model import Finding, Problem, Severity


def judge(case: Case) -> tuple[Finding, ...]:
    """Return the findings of one partition, the most serious first, no code twice."""
    row = case.row
    problems = (next(check(case), None) for check in decided(Stage.PARTITION, case.situation))
    return tuple(
        _finding(problem, case.terms, (row.topic, row.new_topic), topic=row.topic, partition=row.partition)
        for problem in problems
        if problem is not None
    )


def judge_migration(case: MigrationCase) -> tuple[Finding, ...]:
    """Return the findings about the checkpoint, the topics, the mirror and the group, the most serious first.

    Problems from the checkpoint's reader keep its message, and are not repeated.
    """
    sentences = set() if case.checkpoint is None else {problem.code for problem in case.checkpoint.problems}
    read = ((problem, None) for problem in _read(case))
    topics = (
        (problem, pair.old_name) for check in decided(Stage.TOPIC) for pair in case.topics for problem in check(pair)
    )
    stages = (Stage.MIGRATION,) if case.old_group is None else (Stage.MIGRATION, Stage.GROUP)
    checks = (check for stage in stages for check in decided(stage, case.situation))
    overall = ((problem, None) for check in checks for problem in check(case))
    results = (*read, *((problem, at) for problem, at in (*topics, *overall) if problem.code not in sentences))
    topics_of_rows = (name for row in case.rows for name in (row.topic, row.new_topic))
    clusters = (name for snapshot in (case.old, case.new) for name in (snapshot.name, snapshot.alias))
    groups = (state.name for state in (case.old_group, case.new_group, case.committed) if state is not None)
    names = [*dict.fromkeys(name for name in (*topics_of_rows, *clusters, *groups) if name is not None)]
    severities = list(Severity)
    return tuple(
        sorted(
            (_finding(problem, case.terms, names, topic=at) for problem, at in results),
            key=lambda finding: (severities.index(finding.severity), describe(finding.code).rank),
        )
    )


def _read(case: MigrationCase) -> Iterator[Problem]:
    """Yield the problems that the readers of the checkpoint and of both clusters reported.

    Missing topics, and starts that are chosen when the job starts, are reported by the rows that need them.
    """
    problems = () if case.checkpoint is None else case.checkpoint.problems
    is_reported = any(pair.old is None or pair.new is None for pair in case.topics)
    for problem in (*problems, *case.old.problems, *case.new.problems):
        if not ((is_reported and problem.code == topic_missing.code) or chosen_at_start(problem)):
            kind = findings().get(problem.code)
            more = "" if kind is None or kind.amount is None else kind.amount(case)
            yield replace(problem, message=f"{problem.message} {more}") if more else problem


def _finding(
    problem: Problem,
    terms: Mapping[str, str],
    names: Sequence[str],
    *,
    topic: str | None = None,
    partition: int | None = None,
) -> Finding:
    said = worded(problem, terms, names=names)
    return describe(said.code).finding(said.message, fix=said.fix, topic=topic, partition=partition)


__all__ = [
    "Case",
    "DeclaredFinding",
    "Fact",
    "FindingKind",
    "JobStatement",
    "MigrationCase",
    "Said",
    "Stage",
    "TopicCase",
    "blocks_translated",
    "describe",
    "finding",
    "findings",
    "judge",
    "judge_migration",
    "severity_of",
    "worded",
]
