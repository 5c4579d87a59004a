"""What jobs of the lab's migration have to count."""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.lab.plan_of_jobs import LabTopic, records_of


def readable(topic: LabTopic, end: int) -> Iterator[str]:
    """Yield the serials that a job counts that begins at the log start and reads committed records up to a number."""
    for record in records_of(topic, 0, end):
        number = int(record.serial.rpartition("-")[2])
        if not record.aborted and number >= topic.deleted[record.partition]:
            yield record.serial
