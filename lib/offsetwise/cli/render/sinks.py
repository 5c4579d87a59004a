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


def transactions(out: Console, made: SinkTransactions) -> None:
    """Show a line for each transaction, then where the logs of the sink end."""
    counted = ", ".join(f"{count:,} {decision}" for decision, count in made.counts.items())
    cluster = safe(made.cluster_id or "unknown")
    out.print(f"[bold]{many(len(made.transactions), 'transaction')} on cluster id {cluster}[/]: {counted or 'none'}")
    for each in made.transactions:
        if each.decision is Decision.NOTHING:
            continue  # a job leaves one for each checkpoint and subtask of a week
        style = "green" if each.decision in CLOSED else "yellow" if each.decision in _OFFERED else "bold red"
        out.print(f"{_named(each)}, {_states(each)}: [{style}]{each.decision}[/]. {safe(each.reason)}", soft_wrap=True)
    if over := made.counts.get(Decision.NOTHING):
        out.print(
            f"{many(over, 'transaction')} of this job are over and not held: [green]NOTHING[/]; --json lists them."
        )
    for each_end in made.partitions:
        where = safe(str(each_end.topic_partition))
        told = f"last stable offset {number(each_end.last_stable_offset)}, log end {number(each_end.log_end_offset)}"
        out.print(f"{where}: {told}", soft_wrap=True)
    for found in made.findings:
        out.print(f"[yellow]{found.code}[/] {safe(found.message)} {safe(found.remedy)}", soft_wrap=True)
    if made.upgrade is not None:
        _upgrade(out, made.upgrade)


def _upgrade(out: Console, made: Upgrade) -> None:
    out.print("[bold]Two-phase commit (FLIP-319, KIP-939)[/]")
    for step in made.steps:
        out.print(f"{verdict(verdicts.GATE[step.outcome])} {safe(step.name)}: {safe(step.told)}", soft_wrap=True)
    blocked = f"blocked by {safe(made.blocked_by)}" if made.blocked_by else "no step is known to block"
    out.print(f"[bold]Until then[/] ({blocked}):", soft_wrap=True)
    for message in (*made.until_then, made.false_alarm):
        out.print(f"  {safe(message)}", soft_wrap=True)


def _named(each: SinkTransaction) -> str:
    name = "no id" if each.transactional_id is None else safe(each.transactional_id)
    producer = "?" if each.producer_id is None else str(each.producer_id)
    return f"{name} (producer {producer}, epoch {'?' if each.epoch is None else each.epoch})"


def _states(each: SinkTransaction) -> str:
    sentences = [f"held ({safe(each.held_state or '?')})" if each.held else "not held"]
    sentences.append(f"broker: {safe(each.broker_state)}" if each.broker_state else "broker: no such id or no answer")
    if each.left_ms is not None:
        sentences.append(f"{duration(each.left_ms)} left")
    return ", ".join(sentences)
