"""`init` where there is a stream of Kinesis: it says what it surveys, and how the file is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from offsetwise.client_properties import given_cluster
from offsetwise.config import load_migration
from tests.commands import call
from tests.plugins.kinesis.test_checkpoints import DATA
from tests.with_cases import with_cases

NOBODY: Final = ("--old", "127.0.0.1:1", "--new", "127.0.0.1:2")


@with_cases(
    "given",
    [
        *("us-east-1", "eu-central-1", "us-gov-west-1", "ap-southeast-2"),
        "arn:aws:kinesis:us-east-1:000000000000:stream/orders",
        "https://kinesis.us-east-1.amazonaws.com",
        "kinesis.eu-west-1.amazonaws.com:443",
        "123456789012.control-kinesis.us-east-1.amazonaws.com",
        *("kinesis:us-east-1", "kinesis://orders", "dynamodb://orders-app?region=us-east-1"),
    ],
)
@with_cases("option", ["--old", "--new"])
def test_what_names_kinesis_is_called_so_and_the_file_to_begin_with_is_one(
    option: str, given: str, tmp_path: Path
) -> None:
    out = tmp_path / "m.yaml"
    given_both = {"--old": "127.0.0.1:1", "--new": "127.0.0.1:2", option: given}
    options = [part for pair in given_both.items() for part in pair]
    refused = call("init", *options, "--checkpoints", tmp_path, "--out", out, "--json").refused()

    assert f"found {given!r}, which names something of AWS" in refused["problem"]
    assert not out.exists()
    out.write_text(refused["fix"].partition("for example: ")[2].partition(" docs/kinesis.md")[0].rstrip("."))
    assert load_migration(out).source.stream == "kinesis"


@with_cases(
    "given", ["b-1.orders.kafka.us-east-1.amazonaws.com:9092", "kinesis-bridge:9092", "us-east:9092", "us-east-1:9092"]
)
def test_a_broker_whose_name_is_like_it_is_asked(given: str) -> None:
    assert given_cluster(given, prefix="OLD", option="--old").properties == {"bootstrap.servers": given}


@with_cases(
    "target", ['{properties: {bootstrap.servers: "127.0.0.1:1"}}', "{stream: kinesis, properties: {region: us-east-1}}"]
)
def test_a_migration_of_kinesis_is_not_added_to(target: str, tmp_path: Path) -> None:
    text = f"name: m\nsource: {{stream: kinesis, properties: {{region: us-east-1}}}}\ntarget: {target}\n"
    (tmp_path / "m.yaml").write_text(text)

    ran = call("init", "--update", "--yes", "--out", tmp_path / "m.yaml", "--checkpoints", tmp_path, "--json").refused()
    assert "with the stream 'kinesis': init surveys clusters of Kafka" in ran["problem"]
    assert "job: {stream: STREAM}" in ran["fix"]
    assert (tmp_path / "m.yaml").read_text() == text


@with_cases(
    ("root", "count"),
    [
        ("kcl/2.7.2-two-shards.json", 2),
        ("spark/qubole-1.2.0-committed", 2),
        ("flink/streams-source-5.1.0-two-shards", 2),
    ],
)
def test_positions_in_shards_are_counted_and_lead_to_the_file_that_compares_them(
    root: str, count: int, tmp_path: Path
) -> None:
    ran = call("init", *NOBODY, "--checkpoints", DATA / root, "--out", tmp_path / "m.yaml")

    assert ran.code == 1
    told = " ".join(ran.err.split())
    assert f"it has {count} positions in shards, and init surveys clusters of Kafka" in told
    assert "For Kinesis write the migration file yourself" in told
    assert "left out" in (tmp_path / "m.yaml").read_text()
