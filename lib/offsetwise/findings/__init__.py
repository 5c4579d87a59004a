"""What is wrong or worth knowing: stable codes, and pure checks that decide them."""

from offsetwise.findings.case import Case, JobStatement, MigrationCase, TopicCase
from offsetwise.findings.checks import judge, judge_migration
from offsetwise.findings.register import (
    DeclaredFinding,
    Fact,
    FindingKind,
    Said,
    Stage,
    blocks_translated,
    describe,
    finding,
    findings,
    severity_of,
    worded,
)

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
