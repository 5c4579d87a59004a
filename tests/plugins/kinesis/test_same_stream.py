"""Positions on one and the same stream: the stream is asked, the numbers are copied, and what is wrong is found."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import offsetwise as ow
from offsetwise import files, workflow
from offsetwise.config import ClusterConfig, load_migration
from offsetwise.errors import ClusterAuthError, ClusterError, ConfigError, OffsetwiseError
from offsetwise.model import (
    Cluster,
    ClusterRequirement,
    Exactness,
    Override,
    RawVerdict,
    Severity,
    ShardRange,
    Snapshot,
    TopicPartition,
)
from offsetwise.plan import options
from offsetwise.plan.predict import predict
from offsetwise.plugins.kinesis.stream import client, reader
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, TRIM_HORIZON, after, at, at_time
from offsetwise.streams.reader import read_cluster
from tests.commands import call
from tests.plugins.kinesis.streams import MIDDLE, STREAM, Stream, lease, stream
from tests.with_cases import with_cases

__all__ = ["stream"]

HIGHEST = 2**128 - 1
DATA = Path(__file__).parents[2] / "data" / "kinesis"
REAL = "49680455763250547512785282537201273657299891119728885762"


def read(path: Path) -> Snapshot:
    return read_cluster(load_migration(path), Cluster.OLD, topics=(STREAM,), groups=())


def codes(made: ow.Comparison) -> list[str]:
    return sorted({each.code for each in made.findings})


def test_a_snapshot_has_every_listed_shard_and_where_it_begins(stream: Stream, tmp_path: Path) -> None:
    stream.split()
    (topic,) = read(stream.migration(tmp_path, lease(0, "5"))).topics

    arn, _, born = str(topic.id).partition("@")
    assert (arn, born.isdigit()) == ("arn:aws:kinesis:us-east-1:123456789012:stream/chain", True)
    assert [(each.partition, each.log_start, each.hw, each.lso) for each in topic.partitions] == [
        (0, at(1), SHARD_END, SHARD_END),
        (1, at(1), LATEST, LATEST),
        (2, at(0), LATEST, LATEST),
        (3, at(0), LATEST, LATEST),
    ]
    assert topic.shards == (
        ShardRange(partition=0, low=0, high=MIDDLE - 1, first="1", closed=True),
        ShardRange(partition=1, low=MIDDLE, high=HIGHEST, first="1"),
        ShardRange(partition=2, low=0, high=MIDDLE // 2 - 1, parents=(0,), first="0"),
        ShardRange(partition=3, low=MIDDLE // 2, high=MIDDLE - 1, parents=(0,), first="0"),
    )
    assert dict(topic.config) == {"retention.ms": "86400000"}


def test_one_stream_is_compared_with_itself_and_its_numbers_stay(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "TRIM_HORIZON"))
    made = ow.Migration.load(path).checkpoint("app").compare()

    assert [(row.source_offset, row.target_offset, row.exactness, row.replay, row.skip) for row in made] == [
        (after(5), after(5), Exactness.PRESERVED, 0, 0),
        (TRIM_HORIZON, TRIM_HORIZON, Exactness.PRESERVED, 0, 0),
    ]
    assert {row.raw.verdict for row in made} == {RawVerdict.SAME}
    assert "CLUSTER_UNCLEAR" not in codes(made)
    told = call("compare", "--migration", path, "--checkpoint", "app", width=200)
    for word in ("chain-0", "seq:5", "preserved", "Both are one: the job stays where its positions are."):
        assert word in told.out


def test_an_application_beside_a_checkpoint_shows_how_far_both_are_apart(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, REAL), lease(1, "9"))
    later = f"{int(REAL) + (35 << 36)}"
    other = [lease(0, later), lease(1, "9"), lease(2, "7")]
    (tmp_path / "dumps" / "twin.json").write_text(json.dumps({"Items": other}))
    text = path.read_text().replace("job: {stream: chain}", "job: {stream: chain, application: twin}")
    twin = ", {name: twin, uri: ./dumps/twin.json, job: {stream: chain}}]"
    path.write_text(text.replace("application: twin}}]", "application: twin}}" + twin))

    made = ow.Migration.load(path).checkpoint("app").compare()

    (found,) = (each for each in made.findings if each.code == "LEASE_DRIFT")
    assert found.message == (
        "Application 'twin' is elsewhere than the checkpoint in 1 shard: chain-0 is at "
        f"seq:{later} there and seq:{REAL} here, 35 seconds ahead."
    )
    assert "LEASE_DRIFT" not in codes(ow.Migration.load(path).checkpoint("twin").compare())


def test_aggregates_of_producers_are_found_at_the_oldest_record(stream: Stream, tmp_path: Path) -> None:
    stream.client.delete_stream(StreamName=STREAM)
    stream.client.create_stream(StreamName=STREAM, ShardCount=1)
    stream.client.put_record(StreamName=STREAM, PartitionKey="a", Data=b"\xf3\x89\x9a\xc2" + b"x" * 20)
    path = stream.migration(tmp_path, lease(0, "TRIM_HORIZON"))

    assert codes(ow.Migration.load(path).checkpoint("app").compare()) == ["AGGREGATED"]


def test_a_live_lease_table_is_compared_as_its_dump(stream: Stream, tmp_path: Path) -> None:
    import boto3  # noqa: PLC0415 - of an extra

    table = boto3.client("dynamodb", endpoint_url=stream.address, region_name="us-east-1")
    table.create_table(
        TableName="same-app",
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for shard, number in ((0, "5"), (1, "9")):
        table.put_item(TableName="same-app", Item=lease(shard, number))
    path = stream.migration(tmp_path)
    live = f"dynamodb://same-app?region=us-east-1&endpoint={stream.address}"
    path.write_text(path.read_text().replace("./dumps/app.json", f'"{live}"'))

    made = ow.Migration.load(path).checkpoint("app").compare()

    assert [row.target_offset for row in made] == [after(5), after(9)]
    table.delete_table(TableName="same-app")


def test_after_a_split_children_begin_at_their_oldest_record_and_read_parents_stay_away(
    stream: Stream, tmp_path: Path
) -> None:
    stream.split()
    (tmp_path / "a").mkdir()
    parent = stream.migration(tmp_path / "a", lease(0, "5"), lease(1, "9"))
    made = ow.Migration.load(parent).checkpoint("app").compare()

    assert [(row.partition, row.source_offset, row.target_offset) for row in made] == [
        (0, after(5), after(5)),
        (1, after(9), after(9)),
        (2, None, TRIM_HORIZON),
        (3, None, TRIM_HORIZON),
    ]
    (unread,) = (each for each in made.findings if each.code == "CLOSED_SHARD_UNREAD")
    assert "at least 6 records lie behind its position seq:5" in unread.message

    (tmp_path / "b").mkdir()
    children = stream.migration(tmp_path / "b", lease(1, "9"), lease(2, "TRIM_HORIZON"), lease(3, "TRIM_HORIZON"))
    made = ow.Migration.load(children).checkpoint("app").compare()
    assert [row.partition for row in made] == [1, 2, 3]


def test_a_shard_that_is_gone_is_named_and_one_that_was_finished_is_not(stream: Stream, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    path = stream.migration(tmp_path / "a", lease(0, "5"), lease(1, "9"), lease(7, "5"), lease(8, "SHARD_END"))
    made = ow.Migration.load(path).checkpoint("app").compare()

    (gone,) = (each for each in made.findings if each.code == "SHARD_GONE")
    assert (gone.partition, "lists no shard 7, whose position is seq:5" in gone.message) == (7, True)
    assert made["chain-8"].target_offset == SHARD_END
    assert "What arrived" not in gone.message  # the number tells no time

    (tmp_path / "b").mkdir()
    timed = int(f"2{1_795_000_000:09x}7{7:016x}00{1_795_335_840:09x}{7:08x}2", 16)
    path = stream.migration(tmp_path / "b", lease(0, "5"), lease(1, "9"), lease(7, str(timed)))
    made = ow.Migration.load(path).checkpoint("app").compare()
    (gone,) = (each for each in made.findings if each.code == "SHARD_GONE")
    assert "What arrived in it after 2026-11-22T08:24:00Z is gone." in gone.message


def test_a_shard_that_is_gone_is_planned_at_its_end_where_a_person_decides_that(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"), lease(7, "5"), job=TRAITS)
    with pytest.raises(OffsetwiseError, match="SHARD_GONE") as refused:
        drafted(path)
    assert "--override topic:shard=SHARD_END" in refused.value.fix
    assert "mirror" not in refused.value.fix

    gone = TopicPartition(STREAM, 7)
    ended = Override(offset=SHARD_END, reason="expired before the application read it", by="ada")
    plan = drafted(path, overrides=((gone, ended),))
    assert [(each.partition, each.new_offset) for each in plan.document.positions][2] == (7, SHARD_END)
    assert found(path, plan) == []
    oldest = replace(ended, offset=TRIM_HORIZON)
    with pytest.raises(OffsetwiseError, match="PARTITION_MISSING"):
        drafted(path, overrides=((gone, oldest),))


def test_without_an_answer_the_numbers_are_copied_and_the_plan_says_what_was_not_seen(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"startingHashKey": {"S": "0"}, "endingHashKey": {"S": str(HIGHEST)}}
    path = stream.migration(tmp_path, lease(0, REAL, **keys), lease(8, "SHARD_END"))
    nobody = path.read_text().replace(stream.address, "http://127.0.0.1:9")
    path.write_text(nobody)
    made = ow.Migration.load(path).checkpoint("app").compare()

    (topic,) = made.snapshots[1].topics
    assert (topic.id, topic.shards) == (None, (ShardRange(partition=0, low=0, high=HIGHEST),))
    assert [(each.log_start, each.hw) for each in topic.partitions] == [
        (TRIM_HORIZON, LATEST),
        (TRIM_HORIZON, SHARD_END),
    ]
    assert [row.target_offset for row in made] == [after(int(REAL)), SHARD_END]
    assert "was not asked whether it still has the record" in made["chain-0"].evidence.reason
    (told,) = (each for each in made.findings if each.code == "STREAM_NOT_ASKED")
    assert "expired positions and shards that are gone were not seen" in told.message

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert [each.code for each in read(path).problems] == ["STREAM_NOT_ASKED"]


def test_a_stream_that_does_not_exist_is_no_silence(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), job="{stream: nowhere}")
    made = ow.Migration.load(path).checkpoint("app").compare()

    assert "STREAM_NOT_ASKED" not in codes(made)
    assert {"TOPIC_MISSING", "UNTRANSLATED"} & set(codes(made))
    taken = read_cluster(load_migration(path), Cluster.OLD, topics=("nowhere",), groups=())
    assert "Stream 'nowhere' does not exist" in taken.problems[0].message


class _Answers:
    """A client whose every call is refused, as AWS does and no server that runs here."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __getattr__(self, name: str) -> Any:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - of an extra

        def refused(**_: Any) -> None:
            raise ClientError({"Error": {"Code": self.code, "Message": "as AWS says it"}}, name)

        return refused


@with_cases(
    ("code", "kind", "fix"),
    [
        ("AccessDeniedException", ClusterAuthError, "Grant kinesis:DescribeStreamSummary"),
        ("ExpiredTokenException", ClusterAuthError, "Grant kinesis:DescribeStreamSummary"),
        ("InvalidSignatureException", ClusterAuthError, "Grant kinesis:DescribeStreamSummary"),
        ("ProvisionedThroughputExceededException", ClusterError, "use up the quota"),
        ("LimitExceededException", ClusterError, "use up the quota"),
        ("KMSDisabledException", ClusterError, "Try again"),
    ],
)
def test_a_refusal_is_an_error_in_a_sentence(
    code: str, kind: type[OffsetwiseError], fix: str, stream: Stream, tmp_path: Path
) -> None:
    asked = client.asking(load_migration(stream.migration(tmp_path)).source)
    asked.client = _Answers(code)

    with pytest.raises(kind, match=f"Kinesis says {code}: as AWS says it. Nothing was read.") as caught:
        asked.stream(STREAM)
    assert fix in caught.value.fix


def test_what_cannot_be_asked_with_is_named_before_anything_is_asked(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_migration(stream.migration(tmp_path)).source

    with pytest.raises(ConfigError, match="expected a region and a profile that boto3 knows"):
        client.asking(config.model_copy(update={"properties": {"region": "us east"}}))
    with pytest.raises(ConfigError, match="expected a region and a profile that boto3 knows"):
        client.asking(config.model_copy(update={"properties": {"region": "us-east-1", "profile": "nobody"}}))
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigError) as caught:
        client.asking(config)
    assert "offsetwise[kinesis]" in caught.value.fix


@with_cases(
    ("properties", "said"),
    [
        ("{}", "found no region"),
        ("{region: a, aws_secret_access_key: b}", "found 'aws_secret_access_key'"),
        ("{region: a, endpoint: 'ftp://a'}", r"source.properties.endpoint: expected an http or https address"),
        ("{region: a, dynamodb_endpoint: 'http://me:pw@a'}", r"dynamodb_endpoint: expected .* without a user"),
    ],
)
def test_a_cluster_names_its_region_and_nothing_secret(properties: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "migration.yaml").write_text(
        f"name: a\nsource: {{stream: kinesis, properties: {properties}}}\n"
        "target: {stream: kinesis, properties: {region: a}}\n"
    )
    with pytest.raises(ConfigError, match=said):
        load_migration(tmp_path / "migration.yaml")


def test_a_shard_is_read_once_for_a_snapshot_of_both_clusters(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[client.Asking] = []

    def counted(config: ClusterConfig) -> client.Asking:
        made.append(client.asking(config))
        return made[-1]

    for module in ("reader", "at_positions"):
        monkeypatch.setattr(f"offsetwise.plugins.kinesis.stream.{module}.asking", counted)
    ow.Migration.load(stream.migration(tmp_path, lease(0, "5"), lease(1, "9"))).checkpoint("app").compare()

    # Describe, list, and of two shards an iterator and a read; then both at each position.
    assert [each.calls for each in made] == [1 + 1 + 2 * 2, 2 * 2]


def test_a_time_is_a_position_and_every_place_has_its_arrival(stream: Stream, tmp_path: Path) -> None:
    config = load_migration(stream.migration(tmp_path)).source
    first, second = TopicPartition(STREAM, 0), TopicPartition(STREAM, 1)

    assert reader.offsets_for_times(config, {first: 1_795_335_840_604}) == {first: at_time(1_795_335_840_604)}
    ranges = reader.log_ranges(config, [first, first._replace(partition=9)])
    assert {key: log.log_start for key, log in ranges.items()} == {first: at(1), (STREAM, 9): None}
    arrived = reader.timestamps_at(config, [(first, after(5)), (second, after(9)), (second, SHARD_END)])
    assert arrived[first, after(5)] is not None
    assert (arrived[second, after(9)], arrived[second, SHARD_END]) == (None, None)


def test_a_snapshot_of_a_stream_is_kept_and_read_again(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"))
    made = ow.Migration.load(path).checkpoint("app").compare()
    for kind, one in (("comparison", made), ("snapshot", made.snapshots[1])):
        assert files.load(files.dump(one), kind, subject="it") == one


TRAITS = "{stream: chain, stateful: false}"


def drafted(path: Path, **more: Any) -> ow.Plan:
    return ow.Migration.load(path).checkpoint("app").draft(options.target("starting-position"), author="ada", **more)


def found(path: Path, plan: ow.Plan) -> list[str]:
    return [str(each.kind) for each in workflow.drift(plan.document, load_migration(path))]


def test_a_plan_holds_the_stream_and_every_shard_and_is_applied_and_verified(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"), job=TRAITS)
    plan = drafted(path)
    plan.save(tmp_path / "plan.json")
    rita = ow.keygen(subject="rita")
    public = ow.write_keys(tmp_path / "rita", rita)
    ow.write_approval(tmp_path / "plan.approval.json", plan.sign(rita))

    wanted = plan.document.requirements
    assert wanted.old.topics == wanted.new.topics
    (topic,) = wanted.new.topics
    assert str(topic.id).startswith("arn:aws:kinesis:us-east-1:123456789012:stream/chain@")
    assert [(each.partition, each.low, each.high) for each in topic.shards] == [
        (0, 0, MIDDLE - 1),
        (1, MIDDLE, HIGHEST),
    ]
    assert [str(each.new_offset) for each in plan.document.positions] == ["seq:5", "seq:9"]
    assert {each.name: each.outcome.value for each in plan.document.gate} == {
        "everything mirrored": "passed",
        "no open transaction": "passed",
        "skew within the watermark": "passed",
        "retention after the cutover": "unknown",
    }
    assert found(path, plan) == []
    receipt = plan.apply(
        output=tmp_path / "out" / "start.json",
        approvals=[tmp_path / "plan.approval.json"],
        trust=[public],
        execute=True,
    )
    assert receipt.document.steps[0].state.value == "done"
    assert "shardId-000000000001" in (tmp_path / "out" / "start.json").read_text()
    assert {str(each.found) for each in receipt.verify().positions} <= {"seq:5", "seq:9", "None"}


def test_a_reshard_and_a_stream_made_again_after_the_review_make_the_plan_stale(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"), job=TRAITS)
    plan = drafted(path)
    again = replace(
        plan.document,
        requirements=replace(plan.document.requirements, new=another_birth(plan.document.requirements.new)),
    )
    assert [str(each.kind) for each in workflow.drift(again, load_migration(path))] == ["TOPIC_RECREATED"]

    stream.split()
    assert found(path, plan) == ["PARTITIONS_CHANGED"] * 2
    (tmp_path / "dumps" / "app.json").write_text(json.dumps({"Items": [lease(0, "6"), lease(1, "9")]}))
    assert found(path, plan) == ["PARTITIONS_CHANGED"] * 2 + ["CHECKPOINT_EDITED"]


def another_birth(wanted: ClusterRequirement) -> ClusterRequirement:
    return replace(wanted, topics=tuple(replace(each, id=f"{each.id}9") for each in wanted.topics))


def test_a_plan_that_was_made_without_the_stream_still_holds_without_it_and_not_with_it(
    stream: Stream, tmp_path: Path
) -> None:
    keys = {"startingHashKey": {"S": "0"}, "endingHashKey": {"S": str(HIGHEST)}}
    path = stream.migration(tmp_path, lease(0, REAL, **keys), job=TRAITS)
    asked = path.read_text()
    path.write_text(asked.replace(stream.address, "http://127.0.0.1:9"))
    plan = drafted(path)

    assert [each.code for each in plan.document.findings if each.code == "STREAM_NOT_ASKED"] == ["STREAM_NOT_ASKED"]
    assert plan.document.requirements.new.topics[0].shards == (ShardRange(partition=0, low=0, high=HIGHEST),)
    assert found(path, plan) == []
    path.write_text(asked)
    assert found(path, plan)[0] == "CLUSTER_REPLACED"


def test_the_arn_that_a_savepoint_is_made_for_names_the_stream_of_a_lease_table(stream: Stream, tmp_path: Path) -> None:
    path = stream.migration(tmp_path, lease(0, "5"), lease(1, "9"), job="{sink: kafka, stateful: false}")
    arn = "arn:aws:kinesis:us-east-1:123456789012:stream/chain"
    given = ("--checkpoint", "app", "--target", "flink-savepoint-from-positions", "--author", "ada", "--json")
    made = ("--uid", "src", "--stream-arn", arn, "--parallelism", "1", "--max-parallelism", "128")
    plan = call("draft", "--migration", path, *given, *made, "--out", tmp_path / "p.json").answered()

    assert [(each["topic"], each["partition"]) for each in plan["positions"]] == [("chain", 0), ("chain", 1)]
    assert plan["savepoint"]["stream_arn"] == arn


def test_what_awslabs_never_reads_of_a_closed_shard_is_foretold_in_records(stream: Stream, tmp_path: Path) -> None:
    folder = shutil.copytree(
        DATA / "spark" / "awslabs-2.0.0-committed", tmp_path / "query", ignore=shutil.ignore_patterns("*.crc")
    )
    for number, last in ((0, "1"), (1, "9")):
        end = folder / "sources" / "0" / "shard-source" / "0" / f"shardId-{number:012}"
        body = json.loads(end.read_text()) | {"iteratorPosition": last}
        end.write_text(json.dumps(body))
    line = folder / "offsets" / "0"
    line.write_text(line.read_text().replace('"spk"', f'"{STREAM}"'))
    stream.split()
    path = stream.migration(tmp_path)
    path.write_text(path.read_text().replace("./dumps/app.json", "./query"))
    checkpoint = ow.Migration.load(path).checkpoint("app")
    made = checkpoint.compare()

    found = {each.code: each for each in made.findings}
    assert found["CLOSED_SHARD_DROPPED"].severity is Severity.BLOCKS
    assert "10 records lie behind its position seq:1" in found["CLOSED_SHARD_DROPPED"].message
    assert "an unedited query never reads them" in found["CLOSED_SHARD_DROPPED"].message
    told = predict(made).told
    assert found["CLOSED_SHARD_DROPPED"].message in told
    assert found["CHILDREN_AT_NOW"].message in told
    assert "CLOSED_SHARD_DROPPED" not in codes(
        ow.Migration.load(stream_of_kcl(stream, tmp_path)).checkpoint("app").compare()
    )


def stream_of_kcl(stream: Stream, folder: Path) -> Path:
    (folder / "kcl").mkdir()
    return stream.migration(folder / "kcl", lease(0, "1"), lease(1, "9"))


@with_cases("target", ["spark-checkpoint", "spark-checkpoint-in-place", "flink-savepoint", "flink-savepoint-converted"])
def test_what_copies_a_checkpoint_leads_a_lease_table_to_what_takes_positions(
    target: str, stream: Stream, tmp_path: Path
) -> None:
    app = ow.Migration.load(stream.migration(tmp_path, lease(0, "5"), lease(1, "9"))).checkpoint("app")
    with pytest.raises(OffsetwiseError, match="NO_STATE_TO_COPY") as caught:
        app.draft(options.target(target), author="ada")

    assert "flink-savepoint-from-positions" in caught.value.fix
    assert "consumer group" not in caught.value.fix
    assert app.draft(options.target("starting-position"), author="ada").document.positions
