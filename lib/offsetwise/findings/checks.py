from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from offsetwise.findings.case import Case, MigrationCase
from offsetwise.findings.logs import topic_missing
from offsetwise.findings.register import Stage, decided, describe, findings, worded
from offsetwise.findings.target_position import chosen_at_start
from offsetwise.model import Finding, Problem, Severity


def judge(case: Case) -> tuple[Finding, ...]:
    """Return the findings of one partition, the most serious first, no code twice."""
    topic, partition = case.row.topic, case.row.partition
    problems = (next(check(case), None) for check in decided(Stage.PARTITION, case.situation))
    names = (topic, case.row.new_topic)
    worded_problems = (worded(problem, case.terms, names=names) for problem in problems if problem is not None)
    return _ordered(_about(problem, topic, partition) for problem in worded_problems)


def judge_migration(case: MigrationCase) -> tuple[Finding, ...]:
    """Return the findings about the checkpoint, the topics, the mirror and the group, the most serious first.

    What the checkpoint's reader found is told in its words, and not a second time.
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
    names = case.names
    return _ordered(_about(worded(problem, case.terms, names=names), at) for problem, at in results)


def _read(case: MigrationCase) -> Iterator[Problem]:
    """Yield what the readers of the checkpoint and of both clusters found wrong.

    A missing topic, and a start that is chosen when the job starts, are told by the rows that need them.
    """
    problems = () if case.checkpoint is None else case.checkpoint.problems
    is_reported = any(pair.old is None or pair.new is None for pair in case.topics)
    for problem in (*problems, *case.old.problems, *case.new.problems):
        if not ((is_reported and problem.code == topic_missing.code) or chosen_at_start(problem)):
            yield _with_amount(problem, case)


def _with_amount(problem: Problem, case: MigrationCase) -> Problem:
    kind = findings().get(problem.code)
    more = "" if kind is None or kind.amount is None else kind.amount(case)
    return replace(problem, message=f"{problem.message} {more}") if more else problem


def _about(problem: Problem, topic: str | None = None, partition: int | None = None) -> Finding:
    return describe(problem.code).finding(problem.message, fix=problem.fix, topic=topic, partition=partition)


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    severities = list(Severity)
    return tuple(
        sorted(findings, key=lambda finding: (severities.index(finding.severity), describe(finding.code).rank))
    )
