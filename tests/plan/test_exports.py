"""What other people's tools are given."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from offsetwise.errors import PlanError
from offsetwise.model import Target
from offsetwise.plan.exports import consumer_groups_csv, starting_offsets
from tests.golden import GOLDEN
from tests.plan.scene import COPY, ETL, comparison, drafted, rows
from tests.with_cases import with_cases


def test_starting_offsets_lists_every_partition_by_its_new_name() -> None:
    made = drafted(comparison(*rows({"partition": 1, "new_topic": "b"}, {"partition": 0, "new_topic": "b"})))

    assert starting_offsets(made) == '{"b":{"0":950,"1":950}}'
    assert json.loads(starting_offsets(made)) == {"b": {"0": 950, "1": 950}}


def test_starting_offsets_refuses_several_sources_and_missing_partitions() -> None:
    made = drafted(comparison(*rows({}, {})))
    with pytest.raises(PlanError, match="one Kafka source"):
        starting_offsets(replace(made, positions=(made.positions[0], replace(made.positions[1], source="1"))))


@with_cases(
    ("numbers", "found"),
    [([0], "none for 1:"), ([0, 7], "none for 1:"), ([0, 1, 7], "one for 7, which"), ([0, 0, 1], "several for 0:")],
)
def test_starting_offsets_needs_each_partition_of_a_topic_once(numbers: list[int], found: str) -> None:
    made = drafted(comparison(*rows({}, {})))
    positions = tuple(replace(made.positions[0], partition=number) for number in numbers)
    with pytest.raises(PlanError, match=f"each of the 2 partitions of 'orders', found {found}"):
        starting_offsets(replace(made, positions=positions))


def test_a_flink_job_is_told_where_to_begin_in_the_words_of_sql_java_and_python() -> None:
    made = drafted(comparison(*rows({"source": "src\nDROP TABLE x"}, {"source": "src\nDROP TABLE x"})))
    required = made.requirements.checkpoint
    assert required is not None
    made = replace(made, requirements=replace(made.requirements, checkpoint=replace(required, engine="flink")))

    assert (
        starting_offsets(made)
        == """\
-- SQL: options of the table that reads orders (source srcDROP TABLE x), the only topic it reads
'scan.startup.mode' = 'specific-offsets',
'scan.startup.specific-offsets' = 'partition:0,offset:950;partition:1,offset:950'

// Java: setStartingOffsets of the KafkaSource srcDROP TABLE x
OffsetsInitializer.offsets(Map.ofEntries(
    Map.entry(new TopicPartition("orders", 0), 950L),
    Map.entry(new TopicPartition("orders", 1), 950L)), OffsetResetStrategy.NONE)

# Python: set_starting_offsets of the KafkaSource srcDROP TABLE x
KafkaOffsetsInitializer.offsets({
    KafkaTopicPartition("orders", 0): 950,
    KafkaTopicPartition("orders", 1): 950}, KafkaOffsetResetStrategy.NONE)
"""
    )
    with pytest.raises(PlanError, match="Flink reads the others from their start"):
        starting_offsets(replace(made, positions=made.positions[:1]))


def test_the_csv_has_no_header_and_names_the_group_only_where_there_are_several() -> None:
    made = drafted(comparison(*rows({}, {})), ETL)
    other = Target(kind="consumer-group", group="b")

    assert consumer_groups_csv(made) == "orders,0,950\norders,1,950\n"
    assert consumer_groups_csv(replace(made, targets=(COPY,))) == "orders,0,950\norders,1,950\n"
    assert consumer_groups_csv(replace(made, targets=(ETL, other))) == (
        "etl,orders,0,950\netl,orders,1,950\nb,orders,0,950\nb,orders,1,950\n"
    )


def _cells(text: str) -> list[list[str]]:
    return list(csv.reader(text.splitlines()))


@with_cases("vector", ["single_group", "long_topic_quoted"])
def test_the_csv_has_the_cells_that_kafkas_own_export_has(vector: str) -> None:
    """Kafka's export quotes every long name; its import asks for no quotes where no letter needs them."""
    recorded = GOLDEN["reset_csv"][vector]
    ((topic, partition, offset),) = _cells(recorded)
    made = drafted(comparison(*rows({"new_topic": topic, "partition": int(partition), "new_offset": int(offset)})))

    assert GOLDEN["reset_csv"]["header"] is False
    assert _cells(consumer_groups_csv(made)) == _cells(recorded)
    assert consumer_groups_csv(made) == recorded.replace('"', "")


def test_a_group_that_kafkas_own_export_has_to_quote_is_refused() -> None:
    """What does not undo the quotes would give the offsets to another group, so none is printed in them."""
    ((group, *_),) = _cells(GOLDEN["reset_csv"]["multi_group"])
    quoted = Target(kind="consumer-group", group=group)

    with pytest.raises(PlanError, match=f"found '{group}'"):
        consumer_groups_csv(replace(drafted(None, ETL), targets=(ETL, quoted)))


@with_cases(
    "name",
    [
        *(
            "=1+1",
            "+a",
            "-a",
            "@a",
            " =1+1",
            "\t=1",
            "\uff1dcmd()",
            "\uff20a",
            "a,b",
            "a;=1+1",
            "a\tb",
            'a"b',
            "a\nb",
            "a'b",
        ),
        *("\x1b[31ma", "\x9b31ma", "\u202eb", "a\u2028=1", "\ufeff=1", "\udc80", "a "),
    ],
    ids=ascii,
)
def test_a_groups_name_that_a_spreadsheet_would_run_or_the_tool_misread_is_refused(name: str) -> None:
    hostile = Target(kind="consumer-group", group=name)

    with pytest.raises(PlanError, match="names that can be in it"):
        consumer_groups_csv(replace(drafted(None, ETL), targets=(ETL, hostile)))


@with_cases("name", ["=cmd", "a,b", "a\nb", ""])
def test_a_topic_that_kafka_does_not_allow_is_refused(name: str) -> None:
    made = drafted(None, ETL)
    hostile = replace(made, positions=(replace(made.positions[0], new_topic=name),))

    for export in (starting_offsets, consumer_groups_csv):
        with pytest.raises(PlanError):
            export(hostile)


def test_one_partition_at_two_places_cannot_be_one_line() -> None:
    made = drafted(comparison(*rows({}, {"source": "1", "partition": 0, "new_offset": 960})))

    with pytest.raises(PlanError, match="found two"):
        consumer_groups_csv(made)


@with_cases("name", ["-1", "--all-topics", "...", "1e5", "TRUE", "a" * 249])
def test_what_kafka_allows_as_a_topic_stays_as_it_is_because_it_can_be_no_formula(name: str) -> None:
    """Kafka's tool reads cells as they stand, and nothing that Kafka allows calls anything: no `(`, `!`, `|` or `=`."""
    made = drafted(None, ETL)
    named = replace(made, positions=(replace(made.positions[0], new_topic=name),))

    assert consumer_groups_csv(named) == f"{name},0,950\n"
