"""What a command line says about targets, overrides and starts, as values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from offsetwise.errors import UsageError
from offsetwise.model import NewSavepoint, Override, Settlement, Start, Target, TopicPartition
from offsetwise.plan.request import SettlementChoice, StartChoice, Unset
from offsetwise.plan.target import spec_of, specs
from offsetwise.ports.stream import position
from offsetwise.registry import TARGETS

_OVERRIDE: Final = re.compile(r"([a-zA-Z0-9._-]{1,249}):([0-9]{1,9})=(.{1,200})")
_START: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})=(earliest|latest|timestamp:(.+)|group:(.+))")


def target(text: str) -> Target:
    """Read a target.

    >>> str(target("consumer-group:etl"))
    'consumer-group:etl'

    Raises:
        UsageError: It is none.
    """
    kind, colon, group = text.partition(":")
    if kind not in TARGETS or bool(group) != spec_of(kind).takes_group or (colon and not group):
        groups = " or ".join(f"{each.name}:NAME" for each in specs() if each.takes_group)
        raise UsageError(
            f"--target: expected one of {', '.join(TARGETS)}, a group as {groups}; found {text[:100]!r}. "
            "Nothing was drafted.",
            fix="Name a target as in the list.",
        )
    return Target(kind=kind, group=group or None)


def savepoint(
    uid: str | None, stream_arn: str | None, parallelism: int | None, max_parallelism: int | None
) -> NewSavepoint | None:
    """Give what a new savepoint needs to know of its job; None where nothing is said.

    Raises:
        UsageError: Some of it is said, and some is not.
    """
    of_job = (uid, parallelism, max_parallelism)
    if of_job == (None, None, None):
        return None if stream_arn is None else NewSavepoint(stream_arn=stream_arn)
    if stream_arn is None or None in of_job:
        said = {
            "--uid": uid,
            "--stream-arn": stream_arn,
            "--parallelism": parallelism,
            "--max-parallelism": max_parallelism,
        }
        lacking = " and ".join(name for name, value in said.items() if value is None)
        raise UsageError(
            f"draft: expected --uid, --stream-arn, --parallelism and --max-parallelism together, found none of "
            f"{lacking}. Nothing was drafted.",
            fix="Give all four, as in the code of the job that starts from the savepoint; or --stream-arn alone, for a "
            "target that asks for no more.",
        )
    return NewSavepoint(uid=uid, stream_arn=stream_arn, parallelism=parallelism, max_parallelism=max_parallelism)


def unset(text: str | None) -> Unset | None:
    """Read what to do where a consumer group has no commit.

    Raises:
        UsageError: It is no such thing.
    """
    if text is None or text in list(Unset):
        return None if text is None else Unset(text)
    raise UsageError(
        f"--unset: expected {', '.join(Unset)}, found {text[:100]!r}. Nothing was drafted.",
        fix="Give --unset leave to write nothing for partitions without a commit, or decide about each by --override.",
    )


def overrides(texts: Sequence[str], reasons: Sequence[str], *, by: str) -> tuple[tuple[TopicPartition, Override], ...]:
    """Read `topic:partition=offset`, each with its reason.

    Raises:
        UsageError: One is none.
    """
    made = []
    for text, reason in zip(texts, reasons, strict=True):
        found = _OVERRIDE.fullmatch(text)
        offset = None if found is None else position(found[3])
        if found is None or offset is None:
            raise UsageError(
                f"--override: expected topic:partition=offset, found {text[:100]!r}. Nothing was drafted.",
                fix="Write for example --override orders:0=950, with the topic's name on the old cluster.",
            )
        key = TopicPartition(topic=found[1], partition=int(found[2]))
        made.append((key, Override(offset=offset, reason=reason, by=by)))
    return tuple(made)


def starts(texts: Sequence[str], reasons: Sequence[str], *, by: str) -> tuple[StartChoice, ...]:
    """Read `topic=earliest`, `latest`, `timestamp:TIME` or `group:NAME`, each with its reason.

    Raises:
        UsageError: One is none.
    """
    return tuple(_start(text, reason, by) for text, reason in zip(texts, reasons, strict=True))


def settlements(
    commits: Sequence[str], aborts: Sequence[str], reasons: Sequence[str], *, by: str
) -> tuple[SettlementChoice, ...]:
    """Read the transactional ids that a person decided about, each with its reason, commits first.

    Raises:
        UsageError: One is named twice.
    """
    decided = [(name, Settlement.COMMIT) for name in commits] + [(name, Settlement.ABORT) for name in aborts]
    names = [name for name, _ in decided]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"--commit-transaction, --abort-transaction: expected each id once, found {twice[:100]!r} twice. Nothing "
            "was drafted.",
            fix="Decide whether it is committed or aborted.",
        )
    return tuple(
        SettlementChoice(transactional_id=name, decision=decision, reason=reason, by=by)
        for (name, decision), reason in zip(decided, reasons, strict=True)
    )


def reasons_for(decisions: int, reasons: Sequence[str]) -> tuple[str, ...]:
    """Give every decision its reason: one for each in their order, or one for all.

    Raises:
        UsageError: Neither so many nor one.
    """
    if decisions and len(reasons) == 1:
        return (reasons[0],) * decisions
    if len(reasons) != decisions:
        raise UsageError(
            f"--reason: expected one for each of {decisions} decisions, or one for all; found {len(reasons)}. "
            "Nothing was drafted.",
            fix="Give every decision a --reason: --override first, then --start, --commit-transaction, "
            "--abort-transaction.",
        )
    return tuple(reasons)


def time_ms(text: str, option: str) -> int:
    """Read a time in ISO 8601; one without a zone is UTC.

    >>> time_ms("1970-01-01T00:00:01Z", "--cutover")
    1000

    Raises:
        UsageError: It is none.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None:
        raise UsageError(
            f"{option}: expected a time such as 2026-11-21T12:00:00Z, found {text[:60]!r}. Nothing was drafted.",
            fix="Write it in ISO 8601.",
        )
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def _start(text: str, reason: str, by: str) -> StartChoice:
    found = _START.fullmatch(text)
    if found is None:
        raise UsageError(
            "--start: expected TOPIC=earliest, latest, timestamp:TIME or group:NAME, "
            f"found {text[:100]!r}. Nothing was drafted.",
            fix="Write for example --start orders=earliest, with the topic's name on the old cluster.",
        )
    return StartChoice(
        topic=found[1],
        start=Start(found[2].partition(":")[0]),
        reason=reason,
        by=by,
        timestamp_ms=time_ms(found[3], "--start") if found[3] else None,
        group=found[4],
    )
