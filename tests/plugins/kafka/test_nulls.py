"""A null where Kafka's protocol has none makes an answer that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafka.protocol.admin.acl import DescribeAclsResponse
from kafka.protocol.admin.configs import DescribeConfigsResponse
from kafka.protocol.admin.groups import DeleteGroupsResponse, ListGroupsResponse
from kafka.protocol.admin.transactions import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
)
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.consumer.group import OffsetCommitResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse

from offsetwise.plugins.kafka.stream.group_types.messages import DescribeShareGroupOffsetsResponse
from offsetwise.plugins.kafka.stream.nulls import is_whole
from tests.with_cases import with_cases

ANSWERS: Final = (
    DescribeAclsResponse,
    DescribeConfigsResponse,
    DeleteGroupsResponse,
    ListGroupsResponse,
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
    FetchResponse,
    OffsetCommitResponse,
    FindCoordinatorResponse,
    MetadataResponse,
    DescribeShareGroupOffsetsResponse,
)
VERSIONS: Final = [
    (answer, version)
    for answer in ANSWERS
    for version in range(answer._struct.min_version, answer._struct.max_version + 1)
]


def _filled(kind: Any, version: int) -> Any:
    """Return a message with one element in each of its arrays."""
    made = kind(version=version)
    for field in kind.fields.values():
        if not field.for_version_q(version):
            continue
        if field.is_struct_array():
            setattr(made, field.name, [_filled(field.data_class, version)])
        elif field.is_array():
            setattr(made, field.name, [field.array_of.default])
    return made


def _fields(message: Any, version: int) -> Iterator[tuple[Any, Any]]:
    """Yield each field that is an array or a text in a message and in those inside it, with what has it."""
    for field in message.fields.values():
        if not field.for_version_q(version) or field.tagged_field_q(version):
            continue
        if field.is_array() or field.is_struct_array() or field.type_str == "string":
            yield message, field
        if field.is_struct_array():
            for each in getattr(message, field.name):
                yield from _fields(each, version)


@with_cases(("kind", "version"), VERSIONS, ids=lambda value: getattr(value, "__name__", value))
def test_an_answer_is_whole_unless_it_has_a_null_that_the_protocol_does_not_have(kind: Any, version: int) -> None:
    def again(message: Any) -> Any:
        return kind.decode(message.encode(version=version), version=version)

    assert is_whole(again(_filled(kind, version)))
    count = len([*_fields(_filled(kind, version), version)])
    assert count
    for number in range(count):
        message = _filled(kind, version)
        holder, field = [*_fields(message, version)][number]
        setattr(holder, field.name, None)
        assert is_whole(again(message)) == field.nullable_for_version_q(version), field.name
