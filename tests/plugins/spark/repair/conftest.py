"""The stream of Kinesis that repaired copies move positions of."""

from __future__ import annotations

from tests.plugins.kinesis.streams import stream

__all__ = ["stream"]
