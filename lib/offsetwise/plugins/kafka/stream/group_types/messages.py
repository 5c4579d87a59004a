"""The request for the start offsets of share groups, which no Python client has, for kafka-python's protocol layer.

The schemas next to this file have the fields of Kafka 4.1's (KIP-932), version 0, which later brokers accept too.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=__package__):  # type: ignore[call-arg, misc] # untyped
    """Requests the start offsets of share groups from their coordinator. `topics` None means every partition."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=__package__):  # type: ignore[call-arg, misc] # untyped
    """The response. A start offset of -1 means that the group has not begun in the partition."""
