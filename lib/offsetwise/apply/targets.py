"""Write the targets of a plan in order: files one after another, adjacent groups in parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from offsetwise.apply.publish import journal_of
from offsetwise.apply.writers import TargetWriters
from offsetwise.apply.writing import Context
from offsetwise.errors import LostReplyError, OffsetwiseError
from offsetwise.model import Plan, ReceiptStep
from offsetwise.wording import first_of

NAMED: Final = 12
"""How many targets a message lists, written and failed each."""


def write_targets(plan: Plan, contexts: Sequence[Context], writers: TargetWriters) -> tuple[ReceiptStep, ...]:
    """Write every target, or continue.

    Args:
        plan: The plan.
        contexts: One for each target.
        writers: The writer of each kind.

    Raises:
        OffsetwiseError: A target could not be written. The message says which were, and which did not begin.
    """
    results: dict[int, ReceiptStep] = {}
    steps = zip(plan.targets, contexts, strict=True)
    for kind, together in groupby(steps, key=lambda step: step[0].kind):
        outcomes = writers[kind].write_all(plan, tuple(together))
        results |= {number: result for number, result in outcomes.items() if isinstance(result, ReceiptStep)}
        failed = {number: result for number, result in outcomes.items() if isinstance(result, OffsetwiseError)}
        if failed:
            # Unknown results come first: they must be checked before anything else.
            first = next((n for n, error in failed.items() if isinstance(error, LostReplyError)), min(failed))
            error = failed[first]
            others = [f"{_named(plan, number)}: {failed[number].problem}" for number in failed if number != first]
            message = (
                f"{_named(plan, first)}: {error.problem}{_some(others)}{_rest(plan, contexts, results, failed, first)}"
            )
            raise type(error)(message, fix=error.fix) from error
    return tuple(results[number] for number in sorted(results))


def _rest(
    plan: Plan,
    contexts: Sequence[Context],
    written: Mapping[int, ReceiptStep],
    failed: Mapping[int, OffsetwiseError],
    first: int,
) -> str:
    remaining = [number for number in range(len(contexts)) if number not in written and number not in failed]
    begun = [number for number in remaining if journal_of(contexts[number]).record(number).intended is not None]
    before = [f"Written before it: {written[number].told}" for number in sorted(written) if number < first]
    alongside = [f"Written beside it: {written[number].told}" for number in sorted(written) if number > first]
    unsure = [f"Begun, and not read since: {_named(plan, number)}." for number in begun]
    absent = [str(plan.targets[number]) for number in remaining if number not in begun]
    return (
        _some(before) + _some(alongside) + _some(unsure) + (f" Not begun: {first_of(absent, NAMED)}." if absent else "")
    )


def _named(plan: Plan, number: int) -> str:
    return f"Target {number + 1} of {len(plan.targets):,}, {plan.targets[number]}"


def _some(sentences: Sequence[str]) -> str:
    more = f" The same holds for {len(sentences) - NAMED:,} more." if len(sentences) > NAMED else ""
    return "".join(f" {sentence}" for sentence in sentences[:NAMED]) + more
