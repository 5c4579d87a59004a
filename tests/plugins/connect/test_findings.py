"""When the connector's group on the old cluster says something else than its workers, and when it does not."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.findings import MigrationCase, judge_migration
from offsetwise.model import Checkpoint, GroupOffset, GroupState
from offsetwise.plugins.connect.engine.details import ConnectDetails
from offsetwise.plugins.connect.engine.findings import connector_group
from tests.findings.cases import ROW, migration
from tests.with_cases import with_cases

READ = Checkpoint(
    uri="connect+http://h:1/connectors/sink",
    engine="connect",
    job_id="sink",
    restart="It goes on.",
    details=ConnectDetails(),
)
AT = GroupOffset(topic="orders", partition=0, offset=1050)
GROUP = GroupState(name="connect-sink", state="Empty", offsets=(AT,))


def case(group: GroupState | None, *, engine: str = "connect") -> MigrationCase:
    return migration(checkpoint=replace(READ, engine=engine), committed=group, rows=(replace(ROW, old_offset=1050),))


SAID = {
    "members": (replace(GROUP, state="Stable"), "is Stable: it has members"),
    "a rebalance": (replace(GROUP, state="PreparingRebalance"), "is PreparingRebalance: it has members"),
    "another offset": (replace(GROUP, offsets=(replace(AT, offset=1051),)), "orders-0 at 1,050, there 1,051"),
    "no commit": (replace(GROUP, offsets=()), "orders-0 at 1,050, there nothing"),
    "no group": (GroupState(name="connect-sink", state="Dead"), "orders-0 at 1,050, there nothing"),
}
SILENT = {
    "the same": case(GROUP),
    "more than the plan needs": case(replace(GROUP, offsets=(AT, replace(AT, topic="views")))),
    "no group was read": case(None),
    "a group that cannot be read": case(replace(GROUP, state="Stable", error="not authorized")),
    "another engine": case(replace(GROUP, state="Stable"), engine="flink"),
}


def messages(given: MigrationCase) -> list[str]:
    return [found.message for found in judge_migration(given) if found.code == connector_group.code]


@with_cases("name", SAID)
def test_it_is_said(name: str) -> None:
    group, told = SAID[name]

    assert any(told in message for message in messages(case(group)))


@with_cases("name", SILENT)
def test_it_is_silent(name: str) -> None:
    assert messages(SILENT[name]) == []
