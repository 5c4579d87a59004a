from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from offsetwise.engines.registry import registered
from offsetwise.errors import UsageError
from offsetwise.model import (
    CUTOVER_CONDITIONS,
    CutoverRequirement,
    Override,
    Settlement,
    Start,
    Target,
    TopicPartition,
)
from offsetwise.plan.moving import moving_of
from offsetwise.plan.repair.kinds import RepairSettings
from offsetwise.plan.request import SettlementChoice, StartChoice
from offsetwise.plan.settings import Settings, Takers, check, settings_of, texts
from offsetwise.plan.target import target_type, target_types
from offsetwise.ports.stream import position
from offsetwise.registry import TARGETS, with_absent

_OVERRIDE: Final = re.compile(r"([a-zA-Z0-9._-]{1,249}):([0-9]{1,9})=(.{1,200})")
_START: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})=(earliest|latest|timestamp:(.+)|group:(.+))")


def target(text: str) -> Target:
    """Parse the value of `--target`.

    Raises:
        UsageError: It is no target.

    >>> str(target("consumer-group:etl"))
    'consumer-group:etl'

    Raises:
        UsageError: It is none.
    """
    kind, colon, group = text.partition(":")
    if kind not in TARGETS or bool(group) != (target_type(kind).address is not None) or (colon and not group):
        forms = {known.name: f"{known.name}:NAME" if known.address else known.name for known in target_types()}
        expected = forms.get(kind) or f"one of {', '.join(forms.values())}"
        raise UsageError(
            f"--target: expected {expected}, found {text[:100]!r}. Nothing was drafted.",
            fix=with_absent("Name a target as expected; NAME is the group, connector or table that it writes to."),
        )
    return Target(kind=kind, group=group or None)


def parameters() -> Takers:
    return {**{kind.name: kind.parameters for kind in target_types()}, **_of_jobs()}


def _of_jobs() -> dict[str, type[Settings]]:
    return {engine.name: moving_of(engine.name).parameters for engine in registered()}


def of_engines(values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Split values of `--set` into those for targets and, by the names of `Job.draft`, decisions about the job.

    >>> of_engines({"rewind_to": "12", "kcl": "2"})
    ({'kcl': '2'}, {'rewind_to': 12})

    Raises:
        PlanError: A decision has a value that does not fit.
    """
    takers = _of_jobs() | {"repair": RepairSettings}
    keys = {key for model in takers.values() for key in model.model_fields}
    stated = texts({key: value for key, value in values.items() if key in keys})
    check(takers, stated)
    parsed = [settings_of(model, stated) for model in takers.values()]
    decided = {key: getattr(values_of, key) for values_of in parsed for key in values_of.model_fields_set}
    return {key: value for key, value in values.items() if key not in keys}, decided


def with_settings(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of `draft` with older options replaced by `--set key=value`.

    >>> with_settings(["--uid", "src", "--mark-settled", "--parallelism=4", "--author", "ada"])
    ['--set', 'uid=src', '--set', 'mark_settled=true', '--set', 'parallelism=4', '--author', 'ada']
    """
    models = parameters().values()
    keys = {option: key for model in models for option, key in model.options.items()}
    flags = {key for model in models for key, field in model.model_fields.items() if field.annotation is bool}
    results, remaining = [], list(arguments)
    while remaining:
        option, equals, value = remaining.pop(0).partition("=")
        key = keys.get(option)
        if key is None or not (equals or key in flags or remaining):
            results.append(f"{option}{equals}{value}")
        else:
            stated = value if equals else "true" if key in flags else remaining.pop(0)
            results += ["--set", f"{key}={stated}"]
    return results


def overrides(texts: Sequence[str], reasons: Sequence[str], *, by: str) -> tuple[tuple[TopicPartition, Override], ...]:
    """Parse `topic:partition=offset`, each with its reason.

    Raises:
        UsageError: A text has another form.
    """
    results = []
    for text, reason in zip(texts, reasons, strict=True):
        match = _OVERRIDE.fullmatch(text)
        offset = None if match is None else position(match[3])
        if match is None or offset is None:
            raise UsageError(
                f"--override: expected topic:partition=offset, found {text[:100]!r}. Nothing was drafted.",
                fix="Write for example --override orders:0=950, with the topic's name on the old cluster.",
            )
        key = TopicPartition(topic=match[1], partition=int(match[2]))
        results.append((key, Override(offset=offset, reason=reason, by=by)))
    return tuple(results)


def starts(texts: Sequence[str], reasons: Sequence[str], *, by: str) -> tuple[StartChoice, ...]:
    """Parse `topic=earliest`, `latest`, `timestamp:TIME` or `group:NAME`, each with its reason.

    Raises:
        UsageError: A text has another form.
    """
    return tuple(_start(text, reason, by) for text, reason in zip(texts, reasons, strict=True))


def settlements(
    commits: Sequence[str], aborts: Sequence[str], reasons: Sequence[str], *, by: str
) -> tuple[SettlementChoice, ...]:
    """Return the decisions about transactional ids, each with its reason, commits first.

    Raises:
        UsageError: An id is named twice.
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
    """Return a reason for every decision: one each in their order, or the same one for all.

    Raises:
        UsageError: The number of reasons is neither that of the decisions nor one.
    """
    if decisions and len(reasons) == 1:
        return (reasons[0],) * decisions
    if len(reasons) != decisions:
        raise UsageError(
            f"--reason: expected one for each of {decisions} decisions, or one for all; found {len(reasons):,}. "
            "Nothing was drafted.",
            fix="Give every decision a --reason: --override first, then --start, --commit-transaction, "
            "--abort-transaction.",
        )
    return tuple(reasons)


STILL_FOR_S: Final = 60.0
"""How long the old logs must not have grown, by default, in seconds."""


def cutover(text: str | None, still_for_s: float | None = None) -> CutoverRequirement | None:
    """Parse the state of the cutover that `apply` requires; None if nothing is required.

    >>> cutover("copied,frozen", 90)
    CutoverRequirement(states=('frozen', 'copied'), still_for_ms=90000)

    Args:
        text: `frozen`, `copied`, or both with a comma.
        still_for_s: How long the old logs must not have grown, in seconds; None for `STILL_FOR_S`.

    Raises:
        UsageError: Another word, or only a time.
    """
    words = [] if text is None else text.split(",")
    if text is None and still_for_s is None:
        return None
    other = next((repr(word[:60]) for word in words if word not in CUTOVER_CONDITIONS), None)
    if other is not None or not words:
        raise UsageError(
            f"--require: expected {' or '.join(CUTOVER_CONDITIONS)}, or both as in --require frozen,copied; found "
            f"{other or 'none'}. Nothing was drafted.",
            fix="Name what must hold of the old logs before the plan is applied, or leave --require and --still-for "
            "out.",
        )
    return CutoverRequirement(
        states=tuple(word for word in CUTOVER_CONDITIONS if word in words),
        still_for_ms=round(1000 * (STILL_FOR_S if still_for_s is None else still_for_s)),
    )


def time_ms(text: str, option: str) -> int:
    """Parse an ISO 8601 time to epoch ms; a time without a zone is UTC.

    >>> time_ms("1970-01-01T00:00:01Z", "--cutover")
    1000

    Raises:
        UsageError: It is none.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None:
        raise UsageError(
            f"{option}: expected a time such as 2026-11-21T12:00:00Z, found {text[:60]!r}. Nothing was drafted.",
            fix="Write it in ISO 8601.",
        )
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _start(text: str, reason: str, by: str) -> StartChoice:
    match = _START.fullmatch(text)
    if match is None:
        raise UsageError(
            "--start: expected TOPIC=earliest, latest, timestamp:TIME or group:NAME, "
            f"found {text[:100]!r}. Nothing was drafted.",
            fix="Write for example --start orders=earliest, with the topic's name on the old cluster.",
        )
    return StartChoice(
        topic=match[1],
        start=Start(match[2].partition(":")[0]),
        reason=reason,
        by=by,
        timestamp_ms=time_ms(match[3], "--start") if match[3] else None,
        group=match[4],
    )
