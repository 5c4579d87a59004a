"""Real applications of the KCL 2 and 3, stopped in mid-stream, rewound by a plan, and put back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.gates import of_all
from tests.plugins.kinesis.live.engines import Application, Read
from tests.plugins.kinesis.live.jars import KCL
from tests.plugins.kinesis.live.moving import approved, led, migrated, ready
from tests.plugins.kinesis.live.servers import Server, Stream
from tests.plugins.kinesis.targets.test_kinesis_commands import Folder

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("ready")]
WRITTEN: Final = 60
BACK: Final = 3
"""The record of each shard that is rewound to, by its place in the shard."""


def rewinding(folder: Folder, stream: Stream, shards: list[list[int]], application: str) -> None:
    """Draft to go on behind the third record of each shard."""
    places = [f"{stream.name}:{shard}={stream.text(numbers[BACK - 1])}" for shard, numbers in enumerate(shards)]
    options = [part for place in places for part in ("--override", place)]
    drafted = folder.draft("--target", f"kcl-leases:{application}", *options, "--reason", "a bad release")
    assert drafted.code == 0, drafted.err


@pytest.mark.parametrize("version", of_all(KCL, KCL[-1:]))
def test_an_application_is_refused_while_it_lives_rewound_once_stopped_put_back_and_rewound_again(
    version: str, kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(2)
    stream.put(range(WRITTEN))
    shards = [stream.of_shard(f"shardId-00000000000{number}") for number in range(2)]
    app = Application(version=version, name=f"kcl-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)

    with app.running(stream, 40) as read:
        assert len({each.number for each in read}) == 40
        folder = migrated(tmp_path / "alive", stream, app.uri, dynamodb_local)
        before = app.rows()
        rewinding(folder, stream, shards, app.name)
        refused = folder.apply("--execute")
        assert refused.code == 1
        told = " ".join(refused.err.split())
        assert "found that 'worker-a' renews the lease shardId-00000000000" in told
        assert "its counter went from" in told
        assert [each["checkpoint"] for each in app.rows().values()] == [each["checkpoint"] for each in before.values()]

    folder, before = migrated(tmp_path / "stopped", stream, app.uri, dynamodb_local), app.rows()
    rewinding(folder, stream, shards, app.name)
    approved(folder)
    receipt = json.loads((folder.path / "receipt.json").read_text())
    assert {each["key"] for each in receipt["steps"][0]["leases"]} == before.keys()
    assert all(each["before"] for each in receipt["steps"][0]["leases"])
    taken = folder.after("rollback", "--trust", folder.path / "reviewer.pub", "--execute")
    assert taken.code == 0, taken.err
    assert app.rows() == before

    folder = migrated(tmp_path / "again", stream, app.uri, dynamodb_local)
    rewinding(folder, stream, shards, app.name)
    approved(folder)
    wanted = [number for numbers in shards for number in numbers[BACK:]]
    again = app.read(stream, len(wanted))

    assert sorted(each.number for each in again) == sorted(wanted), "each unread record once"
    assert firsts(again) == {f"shardId-00000000000{at}": numbers[BACK] for at, numbers in enumerate(shards)}


def firsts(read: list[Read]) -> dict[str, int]:
    """Return the first record of each shard."""
    return {each.shard: each.number for each in reversed(read)}


@pytest.mark.gates
def test_two_workers_are_both_stopped_and_both_go_on_behind_the_planned_places(
    kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(2)
    stream.put(range(2 * WRITTEN))
    shards = [stream.of_shard(f"shardId-00000000000{number}") for number in range(2)]
    app = Application(version=KCL[0], name=f"kcl-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)

    with both(app, stream, 10) as read:
        assert len({each.number for each in read}) == 20
        assert len({each["leaseOwner"]["S"] for each in app.rows().values()}) == 2
        folder = migrated(tmp_path / "alive", stream, app.uri, dynamodb_local)
        rewinding(folder, stream, shards, app.name)
        refused = folder.apply("--execute")
        assert refused.code == 1
        assert "renews the lease shardId-00000000000" in " ".join(refused.err.split())

    folder = migrated(tmp_path / "stopped", stream, app.uri, dynamodb_local)
    rewinding(folder, stream, shards, app.name)
    approved(folder)
    with both(app, stream, 10) as first:
        pass
    wanted = [number for numbers in shards for number in numbers[BACK:]]
    rest = app.read(stream, len(wanted) - len(first))

    assert sorted(each.number for each in (*first, *rest)) == sorted(wanted), "each unread record once"


@contextmanager
def both(app: Application, stream: Stream, count: int) -> Iterator[list[Read]]:
    """Let one worker read so many records and keep its leases, and another one take some of them and read as many."""
    with app.running(stream, count) as one, app.running(stream, count, worker="worker-b") as other:
        yield [*one, *other]


def created(folder: Folder, application: Application) -> None:
    """Draft, sign, apply and verify leases in a table that the plan creates."""
    drafted = folder.draft("--target", f"kcl-leases:{application.name}")
    assert drafted.code == 1
    assert "--set create_table=true" in " ".join(drafted.err.split())
    kcl = application.version[0]
    drafted = folder.draft(
        "--target", f"kcl-leases:{application.name}", "--set", "create_table=true", "--set", f"kcl={kcl}"
    )
    assert drafted.code == 0, drafted.err
    assert f"DynamoDB table {application.name}, layout of KCL {kcl}" in " ".join(drafted.err.split())
    approved(folder)
    verified = folder.after("verify")
    assert verified.code == 0, verified.err


@pytest.mark.parametrize("version", of_all(KCL, KCL[-1:]))
def test_a_new_application_goes_on_from_the_leases_of_a_table_that_the_plan_created(
    version: str, kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(2)
    stream.put(range(WRITTEN))
    old = Application(version=KCL[0], name=f"old-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)
    read = {each.number for each in old.read(stream, 40)}
    new = Application(version=version, name=f"new-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)

    folder = migrated(tmp_path / "first", stream, old.uri, dynamodb_local)
    created(folder, new)
    taken = folder.after("rollback", "--trust", folder.path / "reviewer.pub", "--execute")
    assert taken.code == 0, taken.err
    assert new.name not in dynamodb_local.client.list_tables()["TableNames"]

    folder = migrated(tmp_path / "again", stream, old.uri, dynamodb_local)
    created(folder, new)
    rest = new.read(stream, WRITTEN - len(read))
    assert sorted(each.number for each in rest) == sorted(set(range(WRITTEN)) - read), "each unread record once"
    assert folder.after("verify").code == 0
    kept = folder.after("rollback", "--trust", folder.path / "reviewer.pub", "--execute")
    assert kept.code != 0
    assert new.rows().keys() == old.rows().keys()


@pytest.mark.gates
@pytest.mark.parametrize("version", of_all(KCL, KCL[-1:]))
def test_an_application_goes_on_on_another_stream_of_three_shards(
    version: str, kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    stream, there = kinesis_mock.stream(2), kinesis_mock.stream(3)
    stream.put(range(40))
    old = Application(version=KCL[0], name=f"old-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)
    assert sorted({each.number for each in old.read(stream, 40)}) == list(range(40))
    stream.put(range(40, WRITTEN))
    there.put(range(900, 913))
    there.put(range(WRITTEN))
    new = Application(version=version, name=f"new-{stream.name}", dynamodb=dynamodb_local, folder=tmp_path)

    created(led(migrated(tmp_path / "there", stream, old.uri, dynamodb_local), stream, there), new)

    assert sorted(each.number for each in new.read(there, 20)) == list(range(40, WRITTEN)), "each unread record once"
    assert len(new.rows()) == 3
