"""What is wrong or worth knowing: stable codes, and pure checks that decide them."""

from offsetwise.findings.case import Case, Job, MigrationCase, TopicPair
from offsetwise.findings.checks import judge, judge_migration
from offsetwise.findings.codes import Code, FindingKind, Stage, describe

__all__ = [
    "Case",
    "Code",
    "FindingKind",
    "Job",
    "MigrationCase",
    "Stage",
    "TopicPair",
    "describe",
    "judge",
    "judge_migration",
]
