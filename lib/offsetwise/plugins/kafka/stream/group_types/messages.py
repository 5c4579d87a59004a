"""The request for the start offsets of share groups, which no client in Python has, for kafka-python's protocol layer.

The schemas beside this file have the fields of Kafka 4.1's (KIP-932), version 0, which later brokers take too.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=__package__):  # type: ignore[call-arg, misc] # untyped
    """Asks the coordinator of share groups where each begins. `topics` None is every partition."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=__package__):  # type: ignore[call-arg, misc] # untyped
    """The answer. A start offset of -1 is of a partition in which the group has not begun."""
