"""What a file of starting offsets gives, and where a Spark query began that was told to begin there."""

from __future__ import annotations

from offsetwise.model import Plan, ReceiptStep, Turnout
from offsetwise.plan.exports import for_flink
from offsetwise.plan.exports import starting_offsets as exported
from offsetwise.sources.spark_offset_log import GarbledError, parse_offsets
from offsetwise.verify import spark
from offsetwise.verify.eyes import Eyes
from offsetwise.verify.seen import Places, Seen, for_all, number


def starting_offsets(plan: Plan, step: ReceiptStep, eyes: Eyes, checkpoint: str | None) -> list[Seen]:
    """Hold the file against the plan, and the checkpoint that the new job made, where one is given."""
    folder, _, name = step.place.rpartition("/")
    data = eyes.files(folder or "/", (name,)).get(name)
    if data is None:
        return for_all(plan, Turnout.UNKNOWN, f"{step.place} cannot be read.")
    if data != exported(plan).encode():
        return for_all(plan, Turnout.DIFFERENT, f"{step.place} is not the file that was written.")
    if for_flink(plan):
        told = f"{step.place} is as it was written; where a Flink job began, its next savepoint tells."
        return [Seen(found=position.new_offset, turnout=Turnout.CONFIRMED, told=told) for position in plan.positions]
    try:
        # The file is one line of an offset log; its reader finds the numbers.
        found = _at_line(data)
    except GarbledError as error:
        return for_all(plan, Turnout.DIFFERENT, f"{step.place} is garbled: {error}.")
    made = []
    for position in plan.positions:
        stands = found.get((position.new_topic, position.partition))
        same = stands == position.new_offset
        told = f"{position.new_topic}-{position.partition}: {step.place} gives {number(stands)}"
        made.append(
            Seen(
                found=stands,
                turnout=Turnout.CONFIRMED if same else Turnout.DIFFERENT,
                told=f"{told}, as planned." if same else f"{told}, expected {position.new_offset}.",
            )
        )
    if checkpoint is None or any(each.turnout is Turnout.DIFFERENT for each in made):
        return made
    return spark.checkpoint(plan, step, eyes, checkpoint)


def _at_line(data: bytes) -> Places:
    line = data.strip()
    (source,) = parse_offsets(b"v1\n\n" + line).sources
    if source.kind != "kafka" or source.damage is not None:
        raise GarbledError(source.damage or "it holds no Kafka offsets")
    return source.by_partition()
