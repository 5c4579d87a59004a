from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.plugins.spark.engine.later_batches import after_batch
from offsetwise.plugins.spark.engine.repairs.damaged import IGNORED, Damaged, records_between, state_used


def drop_pending_batch(damaged: Damaged, values: Mapping[str, str]) -> Repaired:  # noqa: ARG001 - as every repair
    """Leave out the batch that is planned and not committed: the copy continues after the one before it."""
    restart = damaged.restart
    if restart.missing:
        raise UnrepairableError(
            f"Batch {restart.missing[-1]} before the last one is lost.", fix="Use --set repair=drop-batch-after-gap."
        )
    if restart.reruns is None:
        raise UnrepairableError(
            "No batch is planned and not committed.",
            fix="Nothing is to be dropped: see with `offsetwise inspect` whether anything else is wrong.",
        )
    batch, before = restart.reruns, restart.starts_after
    if before is None and not restart.from_initial:
        raise UnrepairableError(
            f"Where batch {batch} starts is not in offsets/.", fix="Restore the folder from a backup."
        )
    damaged.require_start_after(before)
    between = records_between(None if before is None else damaged.lines(before), damaged.lines_or_none(batch))
    dropped = frozenset(after_batch(damaged.folder, damaged.logs, batch - 1))
    if damaged.is_repartitioning:
        return Repaired(
            dropped=dropped,
            costs=(
                f"No record is read twice: batch {batch} only repartitions the state, and no sink has seen it.",
                state_used(before, stateful=damaged.stateful),
            ),
        )
    return Repaired(
        dropped=dropped,
        costs=(
            f"What the sink has taken of batch {batch} comes twice: {between}, which are read again in other batches.",
            IGNORED.format(ids=f"batch {batch}"),
            state_used(before, stateful=damaged.stateful),
        ),
    )


def remove_damaged_commit(damaged: Damaged, values: Mapping[str, str]) -> Repaired:  # noqa: ARG001 - as every repair
    """Leave out the newest commit, which Spark cannot read, and unreadable ones right below it.

    The newest one's batch runs again with the same ends. The earlier ones are done: Spark planned the next batch after
    each.
    """
    logs, garbled = damaged.logs, _damaged_commits(damaged)
    batch = garbled[0]
    if not logs.planned or logs.planned[-1] < batch:
        raise UnrepairableError(
            f"offsets/{batch} is lost as well, so batch {batch} cannot run again.",
            fix="Restore the folder from a backup.",
        )
    dropped = frozenset(path for number in garbled for path in logs.with_checksum(f"commits/{number}"))
    done = [f"{_batches_of(garbled[:0:-1])} as done: Spark planned the next batch after each."] if garbled[1:] else []
    last = logs.planned[-1]
    if last == batch + 1:
        damaged.require_state(batch)
        between = records_between(damaged.lines(batch), damaged.lines(last))
        return Repaired(
            dropped=dropped,
            costs=(
                f"Batch {last} runs again with the same ends, {between}; a sink that has recorded it ignores it.",
                f"Spark takes batch {batch} as done, which it was: Spark planned batch {last} after it.",
                *(f"It takes {clause}" for clause in done),
                state_used(batch, stateful=damaged.stateful),
            ),
        )
    if last > batch:
        raise UnrepairableError(
            f"Batches {batch + 1} to {last} are planned after it and not committed.",
            fix="Restore the folder from a backup.",
        )
    before = batch - 1
    if before >= 0:
        damaged.lines(before)
        damaged.require_state(before)
    between = records_between(damaged.lines(before) if before >= 0 else None, damaged.lines(batch))
    return Repaired(
        dropped=dropped,
        costs=(
            f"Batch {batch} runs again with the same ends: {between} are read twice.",
            f"A sink that has recorded batch {batch} ignores it, which is right; any other gets its records twice.",
            *(f"Spark takes {clause}" for clause in done),
            state_used(before, stateful=damaged.stateful),
        ),
    )


def _batches_of(ids: Sequence[int]) -> str:
    return f"batch {ids[0]}" if len(ids) == 1 else f"batches {ids[0]} to {ids[-1]}"


def drop_batch_after_gap(damaged: Damaged, values: Mapping[str, str]) -> Repaired:  # noqa: ARG001 - as every repair
    """Leave out the newest batch, before which files are lost; the copy continues after the batch before the gap."""
    restart, logs = damaged.restart, damaged.logs
    if not restart.missing:
        raise UnrepairableError(
            "No batch is lost right before the newest one of a query that skips no id.",
            fix="Nothing is to be dropped: see with `offsetwise inspect` whether anything else is wrong.",
        )
    newest, before = restart.missing.stop, restart.missing.start - 1
    damaged.require_start_after(before)
    ids = f"batches {before + 1} to {newest}"
    between = records_between(damaged.lines(before), damaged.lines_or_none(newest))
    return Repaired(
        dropped=frozenset(after_batch(damaged.folder, logs, before)),
        costs=(
            f"Everything after batch {before} is read again: {between} up to the end of batch {newest}, of which the "
            f"sink has what {'batch' if len(restart.missing) == 1 else 'the lost batches up to'} "
            f"{restart.missing[-1]} wrote.",
            IGNORED.format(ids=ids),
            state_used(before if before in logs.committed else before - 1, stateful=damaged.stateful),
        ),
    )


def _damaged_commits(damaged: Damaged) -> list[int]:
    """Return the commits that Spark cannot read, from the newest down to the first readable one."""
    committed = damaged.logs.committed
    if not committed:
        raise UnrepairableError(
            "commits/ has no batch.",
            fix="Nothing is to be removed: see with `offsetwise inspect` whether anything else is wrong.",
        )
    garbled = [*takewhile(damaged.has_garbled_commit, reversed(committed))]
    if not garbled:
        raise UnrepairableError(
            f"commits/{committed[-1]}, the newest one, is whole, and Spark reads no other.",
            fix="Nothing is to be removed: see with `offsetwise inspect` whether anything else is wrong.",
        )
    return garbled
