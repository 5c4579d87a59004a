"""The transactions of sinks as text for people at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offsetwise.cli.output import safe
from offsetwise.cli.render import verdict
from offsetwise.transactions.decisions import CLOSED, Decision
from offsetwise.wording import duration, many, number, verdicts

if TYPE_CHECKING:
    from rich.console import Console

    from offsetwise.transactions.decisions import SinkTransaction
    from offsetwise.transactions.report import SinkTransactions
    from offsetwise.transactions.upgrade import Upgrade

_OFFERED: Final = (Decision.COMMIT, Decision.ABORT)


def transactions(out: Console, transactions: SinkTransactions) -> None:
    counted = ", ".join(f"{count:,} {decision}" for decision, count in transactions.counts.items())
    cluster = safe(transactions.cluster_id or "unknown")
    out.print(
        f"[bold]{many(len(transactions.transactions), 'transaction')} on cluster id {cluster}[/]: {counted or 'none'}"
    )
    for transaction in transactions.transactions:
        if transaction.decision is Decision.NOTHING:
            continue  # a job leaves one for each checkpoint and subtask of a week
        style = (
            "green" if transaction.decision in CLOSED else "yellow" if transaction.decision in _OFFERED else "bold red"
        )
        out.print(
            f"{_named(transaction)}, {_states(transaction)}: [{style}]{transaction.decision}[/]. "
            f"{safe(transaction.reason)}",
            soft_wrap=True,
        )
    if over := transactions.counts.get(Decision.NOTHING):
        out.print(
            f"{many(over, 'transaction')} of this job are over and not held: [green]NOTHING[/]; --json lists them."
        )
    for each_end in transactions.partitions:
        where = safe(str(each_end.topic_partition))
        offsets = f"last stable offset {number(each_end.last_stable_offset)}, log end {number(each_end.log_end_offset)}"
        out.print(f"{where}: {offsets}", soft_wrap=True)
    for finding in transactions.findings:
        out.print(f"[yellow]{finding.code}[/] {safe(finding.message)} {safe(finding.remedy)}", soft_wrap=True)
    if transactions.upgrade is not None:
        _upgrade(out, transactions.upgrade)


def _upgrade(out: Console, upgrade: Upgrade) -> None:
    out.print("[bold]Two-phase commit (FLIP-319, KIP-939)[/]")
    for step in upgrade.steps:
        out.print(f"{verdict(verdicts.GATE[step.outcome])} {safe(step.name)}: {safe(step.told)}", soft_wrap=True)
    blocked = f"blocked by {safe(upgrade.blocked_by)}" if upgrade.blocked_by else "no step is known to block"
    out.print(f"[bold]Until then[/] ({blocked}):", soft_wrap=True)
    for message in (*upgrade.until_then, upgrade.false_alarm):
        out.print(f"  {safe(message)}", soft_wrap=True)


def _named(transaction: SinkTransaction) -> str:
    name = "no id" if transaction.transactional_id is None else safe(transaction.transactional_id)
    producer = "?" if transaction.producer_id is None else str(transaction.producer_id)
    return f"{name} (producer {producer}, epoch {'?' if transaction.epoch is None else transaction.epoch})"


def _states(transaction: SinkTransaction) -> str:
    sentences = [f"held ({safe(transaction.held_state or '?')})" if transaction.held else "not held"]
    sentences.append(
        f"broker: {safe(transaction.broker_state)}" if transaction.broker_state else "broker: no such id or no answer"
    )
    if transaction.left_ms is not None:
        sentences.append(f"{duration(transaction.left_ms)} left")
    return ", ".join(sentences)
