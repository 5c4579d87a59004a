"""Savepoints of real KafkaSink jobs: their transactions, as three connectors write them."""

from __future__ import annotations

import json
import re

from offsetwise import files
from offsetwise.plugins.flink.engine.checkpoint import read_checkpoint
from offsetwise.plugins.flink.engine.details import flink_details
from tests.transactions.recorded import DATA, SAVEPOINTS, held
from tests.with_cases import with_cases

STRATEGIES = {"c34-incrementing": None, "c40-incrementing": "INCREMENTING", "c50-incrementing": "INCREMENTING"} | {
    "c50-pooling": "POOLING"
}
COMMITTABLE = re.compile(rb"(?s)\0\0\0\x01\0\0\0.(..)(.{8})\0.([a-z0-9-]+-\d+-\d+)\0\0\0\0\0\0\0(.)")
"""A committable by the look of its bytes alone."""


@with_cases("name", SAVEPOINTS)
def test_every_transaction_is_read_with_the_strategy_of_its_writer(name: str) -> None:
    read = read_checkpoint(str(DATA / name))
    found = COMMITTABLE.findall((DATA / name / "_metadata").read_bytes())

    assert len(found) == 2
    assert [
        (one.transactional_id, one.producer_id, one.epoch, one.state == "committed", one.schema)
        for one in read.details.transactions
    ] == [
        (each.decode(), int.from_bytes(producer), int.from_bytes(epoch), state == b"\3", "v1")
        for epoch, producer, each, state in found
    ]
    assert {one.strategy for one in read.details.transactions} == {STRATEGIES[name.partition("/")[0]]}
    assert len({each.transactional_id_prefix for each in flink_details(read).operators} - {None}) == 1


def test_the_strategy_stands_in_json_and_null_is_no_strategy() -> None:
    said = {
        name: [one["strategy"] for one in json.loads(files.dump(read_checkpoint(str(DATA / name))))["transactions"]]
        for name in ("c34-incrementing/savepoint-2-pending", "c50-pooling/chk-1")
    }

    assert said == {"c34-incrementing/savepoint-2-pending": [None, None], "c50-pooling/chk-1": ["POOLING", "POOLING"]}


def test_marking_changes_the_states_alone() -> None:
    for case in ("c50-incrementing", "c50-pooling"):
        pending, marked = held(f"{case}/savepoint-3-pending"), held(f"{case}/savepoint-3-marked-committed")

        assert [one.state for one in pending] == ["received", "received"]
        assert [one.state for one in marked] == ["committed", "committed"]
