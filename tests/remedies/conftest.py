"""What walks share with other tests."""

from __future__ import annotations

from tests.storage.test_dynamodb import dynamodb
from tests.store.conftest import server
from tests.streams.kinesis.streams import stream

__all__ = ["dynamodb", "server", "stream"]
