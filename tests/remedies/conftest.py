"""What walks share with other tests."""

from __future__ import annotations

from tests.integration.test_cluster_refusals import secured
from tests.plugins.kinesis.streams import stream
from tests.storage.test_dynamodb import dynamodb
from tests.store.conftest import server
from tests.transactions.test_command import asked

__all__ = ["asked", "dynamodb", "secured", "server", "stream"]
