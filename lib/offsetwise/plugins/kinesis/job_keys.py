from __future__ import annotations

from offsetwise.config import JobKeys, Label


class KinesisJob(JobKeys):
    """What is stated about an application that reads a stream. None means not stated."""

    stream: Label | None = None
    """The name of the stream that it reads, where its lease table names none."""
    application: Label | None = None
    """The name of a checkpoint here, the lease table of an application that reads the same stream."""

    @property
    def stream_name(self) -> str | None:
        return self.stream

    @property
    def other_reader(self) -> str | None:
        return self.application
