"""The proof of positions on another stream of a real server: made again, and gone when retention took its records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from offsetwise import approval
from offsetwise.plan.reading import read_plan
from tests.commands import Ran, call
from tests.plugins.kinesis.live.moving import ready
from tests.plugins.kinesis.live.servers import Server, Stream
from tests.plugins.kinesis.streams import lease

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("ready")]


class Moved:
    """An application that read some records of a stream, and its move to another one."""

    def __init__(self, folder: Path, old: Stream, new: Stream, read: Iterable[int]) -> None:
        self.folder, self.old = folder, old
        last = {old.places[number][0]: old.places[number][1] for number in read}
        leases = [lease(int(shard[-12:]), sequence) for shard, sequence in last.items()]
        (folder / "app.json").write_text(json.dumps({"Items": leases}))
        given = {"stream": "kinesis", "properties": {"region": "us-east-1", "endpoint": old.server.address}}
        job = {"stream": old.name, "stateful": False, "tolerates_replay": True}
        body = {
            "name": "proof",
            "source": given,
            "target": given,
            "topics": {"map": {old.name: new.name}},
            "checkpoints": [{"name": "app", "uri": str(folder / "app.json"), "job": job}],
            "write_roots": [str(folder)],
        }
        (folder / "m.yaml").write_text(json.dumps(body))
        approval.write_keys(folder / "rita", approval.keygen(subject="rita"))

    def draft(self) -> Ran:
        named = ("--checkpoint", "app", "--author", "ann", "--target", "starting-position")
        return self.run("draft", *named, "--out", self.folder / "plan.json")

    def sign(self, *more: str) -> Ran:
        out = self.folder / "plan.approval.json"
        out.unlink(missing_ok=True)
        return call(
            "sign", self.folder / "plan.json", "--key", self.folder / "rita", "--as", "rita", "--out", out, *more
        )

    def apply(self) -> Ran:
        trusted = ("--approval", self.folder / "plan.approval.json", "--trust", self.folder / "rita.pub")
        output = ("--output", self.folder / "start.json", "--receipt", self.folder / "receipt.json")
        return self.run("apply", self.folder / "plan.json", *trusted, *output, "--execute")

    def run(self, verb: str, *more: str | Path) -> Ran:
        return call(verb, *more, "--migration", self.folder / "m.yaml")


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_what_lies_around_every_place_is_read_again_after_a_split(
    kinesis_mock: Server, tmp_path: Path, shards: int
) -> None:
    old, new = kinesis_mock.stream(2), kinesis_mock.stream(shards)
    old.put(range(40))
    kinesis_mock.client.split_shard(
        StreamName=old.name, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**126)
    )
    old.wait()
    old.put(range(40, 70))
    ended = old.of_shard("shardId-000000000000")
    new.put(range(70))
    moved = Moved(tmp_path, old, new, (number for number in range(55) if number not in ended))
    leases = json.loads((tmp_path / "app.json").read_text())["Items"]
    (tmp_path / "app.json").write_text(json.dumps({"Items": [*leases, lease(0, "SHARD_END")]}))

    drafted = moved.draft()
    assert drafted.code == 0, drafted.err
    positions = read_plan((tmp_path / "plan.json").read_bytes(), subject="plan").positions
    assert {part.partition for one in positions if one.proof is not None for part in one.proof.parts} == {0, 1, 2, 3}
    assert moved.sign().code == 0
    applied = moved.apply()
    assert applied.code == 0, applied.err
    assert (tmp_path / "start.json").exists()


def test_records_that_retention_took_are_unproven_until_a_reviewer_accepts_that(
    kinesalite: Server, tmp_path: Path
) -> None:
    old, new = kinesalite.stream(1), kinesalite.stream(1)
    kinesalite.client.increase_stream_retention_period(StreamName=new.name, RetentionPeriodHours=72)
    new.wait()
    old.put(range(20))
    new.put(range(20))
    moved = Moved(tmp_path, old, new, range(12))
    drafted = moved.draft()
    assert drafted.code == 0, drafted.err
    (one,) = read_plan((tmp_path / "plan.json").read_bytes(), subject="plan").positions
    assert str(one.new_offset) == new.text(11)

    kinesalite.move_clock()
    old.put([20])
    new.put([20])
    assert moved.sign().code == 0
    refused = moved.apply()
    assert refused.code == 3, refused.err
    told = " ".join(refused.err.split())
    assert "PROOF_NOT_REPEATED" in told
    assert "is not in the log any more" in told
    assert not (tmp_path / "start.json").exists()

    unknown = moved.sign("--accept-unproven", f"{old.name}:7", "--reason", "compared by hand")
    assert unknown.code != 0
    signed = moved.sign("--accept-unproven", f"{old.name}:0", "--reason", "compared by hand")
    assert signed.code == 0, signed.err
    applied = moved.apply()
    assert applied.code == 0, applied.err
    assert new.places[11][1] in (tmp_path / "start.json").read_text()
