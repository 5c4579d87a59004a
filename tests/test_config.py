import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from offsetwise.client_properties import resolve_spark
from offsetwise.config import (
    ClusterConfig,
    ContentSettings,
    Migration,
    NamingPolicy,
    TopicSettings,
    client_properties,
    load_migration,
    schema,
)
from offsetwise.errors import ConfigError, ForbiddenPropertyError, SecretError
from offsetwise.model import Cluster, IsolationLevel, Link, Writers
from offsetwise.registry import STREAMS
from tests.with_cases import with_cases

SMALLEST = """
name: orders-to-new
source: {name: old, properties: {bootstrap.servers: "127.0.0.1:19092"}}
target: {name: new, properties: {bootstrap.servers: "127.0.0.1:29092"}}
"""
WHOLE = """
name: orders-to-new
source: {name: old, alias: dc1, properties: {bootstrap.servers: "127.0.0.1:19092"}}
target: {name: new, alias: dc2, properties: {bootstrap.servers: "127.0.0.1:29092"}}
link: preserving
isolation_level: read_committed
topics: {policy: default, separator: "-", map: {clicks: web-clicks}}
checkpoint_roots: [./checkpoints, "s3://bucket/checkpoints"]
checkpoints:
  - name: orders
    uri: ./checkpoints/orders
    job: {stateful: true, watermark_ms: 600000, sink: delta, tolerates_replay: false}
  - {name: far, uri: "s3://bucket/checkpoints/far", belongs_to: new}
writers: mirror-only
write_roots: [./applied]
groups: [orders-etl]
spark: {remote: "sc://127.0.0.1:15002", conf: {spark.sql.shuffle.partitions: 4, spark.ui.enabled: false}}
content: {window_records: 32, budget_records: 1000, budget_bytes: 5000000, clock_skew_s: 60}
"""
Load = Callable[[str], Migration]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    monkeypatch.setenv("OFFSETWISE_SPARK_SERVERS", "sc://127.0.0.1:15002 sc://h:1")

    def from_text(text: str) -> Migration:
        path = tmp_path / "migration.yaml"
        path.write_text(text, encoding="utf-8")
        return load_migration(path)

    return from_text


def test_only_name_source_and_target_are_required(load: Load) -> None:
    migration = load(SMALLEST)
    assert migration.link is Link.MIRRORMAKER
    assert migration.isolation_level is IsolationLevel.READ_UNCOMMITTED
    assert migration.writers is Writers.UNKNOWN
    assert migration.spark.master == "local[*]"
    assert migration.topics.policy is NamingPolicy.IDENTITY
    assert (migration.checkpoints, migration.groups, migration.write_roots) == ((), (), ())
    assert (migration.source.alias, migration.target.alias) == ("old", "new")


def test_clusters_are_called_old_and_new_where_no_name_is_given(load: Load) -> None:
    migration = load(SMALLEST.replace("name: old, ", "").replace("name: new, ", ""))
    assert (migration.source.name, migration.target.alias) == ("old", "new")


def test_clusters_hold_kafka_where_no_stream_is_named(load: Load) -> None:
    assert load(SMALLEST).source.stream == "kafka"


def test_a_stream_that_nobody_registered_is_refused(load: Load) -> None:
    known = ", ".join(sorted(STREAMS))
    with pytest.raises(ConfigError, match=rf"source\.stream.*expected one of {known}, found 'pulsar'"):
        load(SMALLEST.replace("{name: old, ", "{name: old, stream: pulsar, "))


def test_two_clusters_of_different_streams_are_refused(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STREAMS, "other", STREAMS["kafka"])

    with pytest.raises(ConfigError, match="expected two clusters of one stream, found 'other' and 'kafka'"):
        load(SMALLEST.replace("{name: old, ", "{name: old, stream: other, "))


def test_every_key_is_read(load: Load, tmp_path: Path) -> None:
    migration = load(WHOLE)
    assert migration.checkpoint("orders").job.watermark_ms == 600000
    assert migration.checkpoint("far").belongs_to is Cluster.NEW
    assert (migration.spark.master, migration.spark.remote) == (None, "sc://127.0.0.1:15002")
    assert migration.spark.conf == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    assert migration.content == ContentSettings(
        window_records=32, budget_records=1000, budget_bytes=5_000_000, clock_skew_s=60
    )
    assert migration.cluster(Cluster.OLD).alias == "dc1"
    assert migration.checkpoint_roots == (str(tmp_path / "checkpoints"), "s3://bucket/checkpoints")


def test_relative_paths_are_relative_to_the_file(load: Load, tmp_path: Path) -> None:
    migration = load(
        WHOLE.replace(
            '{bootstrap.servers: "127.0.0.1:19092"}',
            '{bootstrap.servers: "127.0.0.1:19092", security.protocol: ssl, ssl.ca.location: certs/ca.pem}',
        )
    )
    assert migration.checkpoints[0].uri == str(tmp_path / "checkpoints" / "orders")
    assert migration.checkpoints[1].uri == "s3://bucket/checkpoints/far"
    assert migration.write_roots == (str(tmp_path / "applied"),)
    assert load(SMALLEST + "checkpoint_roots: ['file:here', 'file:///there']\n").checkpoint_roots == (
        str(tmp_path / "here"),
        "file:///there",
    )
    assert migration.source.properties["ssl.ca.location"] == str(tmp_path / "certs" / "ca.pem")


def test_without_roots_only_the_listed_checkpoints_may_be_read(load: Load, tmp_path: Path) -> None:
    migration = load(SMALLEST + "checkpoints: [{name: orders, uri: ./orders}]\n")
    assert migration.checkpoint_roots == (str(tmp_path / "orders"),)


def test_traits_that_nobody_stated_are_none(load: Load) -> None:
    job = load(SMALLEST + "checkpoints: [{name: orders, uri: ./orders}]\n").checkpoints[0].job
    assert (job.stateful, job.watermark_ms, job.sink, job.tolerates_replay) == (None, None, None, None)


def with_source(extra: str) -> Callable[[str], str]:
    return lambda text: text.replace('"127.0.0.1:19092"', f'"127.0.0.1:19092", {extra}')


def with_sinks(*names: str, wanted: str = "out") -> Callable[[str], str]:
    sinks = "".join(f"  - {{name: {name}, properties: {{bootstrap.servers: '{name}:9092'}}}}\n" for name in names)
    checkpoint = f"checkpoints: [{{name: a, uri: b, job: {{sink_cluster: {wanted}}}}}]\n"
    return lambda text: f"{text}sinks:\n{sinks}{checkpoint}"


@with_cases(("wanted", "servers"), [("old", "127.0.0.1:19092"), ("new", "127.0.0.1:29092"), ("out", "out:9092")])
def test_a_sink_writes_to_one_of_the_two_clusters_or_to_one_of_its_own(load: Load, wanted: str, servers: str) -> None:
    migration = load(with_sinks("out", wanted=wanted)(SMALLEST))
    found = migration.sink(migration.checkpoints[0])

    assert found is not None
    assert found.properties["bootstrap.servers"] == servers


def test_a_sink_whose_cluster_nobody_stated_has_none(load: Load) -> None:
    migration = load(SMALLEST + "checkpoints: [{name: a, uri: b, job: {sink_servers: 'sink:9092'}}]\n")

    assert migration.checkpoints[0].job.sink_servers == "sink:9092"
    assert migration.sink(migration.checkpoints[0]) is None


@with_cases(
    ("change", "said"),
    [
        pytest.param(lambda t: t + "writer: mixed\n", "Did you mean 'writers'?", id="unknown-key"),
        pytest.param(lambda t: t + "zzz: 1\n", "Use only: name, source", id="unknown-key-like-no-other"),
        pytest.param(lambda t: t + "spark: {mastr: x}\n", "spark has the unknown key 'mastr'", id="unknown-key-inside"),
        pytest.param(lambda t: t + "name: again\n", "line 4: expected YAML, but the key 'name'", id="repeated-key"),
        pytest.param(lambda t: t.replace("name: orders-to-new", ""), "name is missing", id="name-missing"),
        pytest.param(
            lambda t: t.replace("29092", "19092"), "found 127.0.0.1:19092 in the bootstrap", id="same-cluster"
        ),
        pytest.param(lambda t: t.replace("name: new", "name: old"), "source.name and target.name", id="same-name"),
        pytest.param(lambda t: t + 'spark: {master: x, remote: "sc://y"}\n', "master and remote", id="two-sparks"),
        pytest.param(lambda t: t + "spark: {remote: 'http://y'}\n", "spark.remote", id="no-connect-address"),
        pytest.param(lambda t: t + "link: teleport\n", "'mirrormaker', 'preserving' or 'other'", id="unknown-link"),
        pytest.param(lambda t: t + "topics: {map: {a: x, b: x}}\n", "new name 'x'", id="merged-topics"),
        pytest.param(lambda t: t + "topics: {map: {no: x}}\n", "put it in quotes", id="yaml-reads-no-as-false"),
        pytest.param(lambda t: t + "groups: &g [a]\nwrite_roots: *g\n", "aliases are not used", id="alias"),
        pytest.param(lambda t: t + "groups: [\n", "expected YAML", id="not-yaml"),
        pytest.param(lambda t: t + "---\nname: b\n", "expected YAML, but found another", id="two-documents"),
        pytest.param(lambda _: "- a\n", "found a list", id="a-list"),
        pytest.param(lambda _: "", "found nothing", id="empty"),
        pytest.param(lambda t: t + "# \x1b\n", "it has the character U+001B, which no YAML may have", id="escape"),
        pytest.param(lambda _: "[" * 5000, "expected YAML", id="nested-without-end"),
        pytest.param(lambda t: t + "x: !!python/object/apply:os.system [ls]\n", "expected YAML", id="python-tag"),
        pytest.param(
            lambda t: t + "checkpoints: [{name: a, uri: b}, {name: a, uri: c}]\n", "'a' twice", id="checkpoint-twice"
        ),
        pytest.param(
            lambda t: t + "checkpoints: [{name: a, uri: b, job: {stateful: 1}}]\n",
            "checkpoints.0.job.stateful",
            id="int",
        ),
        pytest.param(with_source("sasl.password: x"), "sasl.password", id="plain-secret"),
        pytest.param(with_sinks("out", "out"), "found 'out' twice", id="sink-twice"),
        pytest.param(with_sinks("old"), "found 'old', so a checkpoint could mean either", id="sink-named-old"),
        pytest.param(with_sinks("new"), "found 'new', so a checkpoint could mean either", id="sink-named-new"),
        pytest.param(
            lambda t: with_sinks("dc1")(t).replace("name: old", "name: dc1"),
            "found 'dc1', so a checkpoint could mean either",
            id="sink-named-as-the-old-cluster",
        ),
        pytest.param(
            with_sinks("out", wanted="elsewhere"),
            "sink_cluster of 'a', found 'elsewhere'; the file has: old, new, out",
            id="unknown-sink",
        ),
        pytest.param(lambda t: t + "sinks: [{properties: {bootstrap.servers: 's:1'}}]\n", "sinks.0", id="sink-no-name"),
        pytest.param(
            lambda t: t + "sinks: [{name: out, properties: {bootstrap.servers: 's:1', sasl.password: x}}]\n",
            "sinks.0.properties.sasl.password",
            id="sink-with-a-plain-secret",
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_key_and_what_to_do(
    load: Load, tmp_path: Path, change: Callable[[str], str], said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(change(SMALLEST.lstrip()))
    assert said in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "migration.yaml"))
    assert raised.value.fix


@with_cases("number", ["010", "0600000", "-012", "0b11", "1_000", "+1_0", "0x1_0", "1_0.5"])
def test_a_number_that_the_versions_of_yaml_read_differently_is_refused(load: Load, number: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(SMALLEST + f"checkpoints: [{{name: a, uri: b, job: {{watermark_ms: {number}}}}}]\n")

    assert f"{number!r} is a number that YAML 1.1 and 1.2 read differently" in refused.value.problem


@with_cases(
    ("text", "said", "fix"),
    [
        ("groups: [no]", "groups.0 cannot be used: expected keys with values, found true or false", "Put it in quotes"),
        ("groups: [12]", "groups.0 cannot be used: expected keys with values, found a number", "Put it in quotes"),
        ("topics: {map: {a: 1.0}}", "topics.map.a cannot be used: expected a text, found a number", "Put it in quotes"),
        ("topics: {map: [a]}", "topics.map cannot be used: expected keys with values, found a list", "Correct the"),
        ("write_roots: a", "write_roots cannot be used: expected a list, found a text", "Correct the value"),
        ("content: {window_records: 8.0}", "expected a whole number, found a number with a fraction", "Correct the"),
        ("content: {window_records: 1e3}", "expected a whole number, found a text", "Correct the value"),
        ("content: {window_records: ~}", "expected a whole number, found nothing", "Correct the value"),
        ("content: {window_records: {a: 1}}", "expected a whole number, found keys with values", "Correct the value"),
    ],
    ids=ascii,
)
def test_a_value_of_another_type_is_named_by_what_yaml_read(load: Load, text: str, said: str, fix: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(f"{SMALLEST}{text}\n")

    assert said in refused.value.problem
    assert refused.value.fix.startswith(fix)


def test_a_missing_file_and_other_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_migration(tmp_path / "nothing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(ConfigError, match="expected UTF-8"):
        load_migration(tmp_path / "binary.yaml")


def test_a_forbidden_property_names_itself_and_why(load: Load) -> None:
    with pytest.raises(ForbiddenPropertyError, match=r"source.properties.plugin.library.paths: .* run or load code"):
        load(with_source("plugin.library.paths: /tmp/x.so")(SMALLEST))


def test_a_secret_stays_a_reference_until_a_client_is_made(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "canary-7d1f")
    sasl = "security.protocol: sasl_ssl, sasl.mechanism: PLAIN, sasl.username: me, sasl.password: '${KAFKA_PASSWORD}'"
    migration = load(with_source(sasl)(SMALLEST))
    assert "canary" not in repr(migration) + migration.model_dump_json()
    properties = client_properties(migration.source)
    assert properties["sasl.password"] == "canary-7d1f"
    assert "canary" not in f"{properties} {properties!r}"


def test_a_plain_secret_is_refused_and_not_repeated(load: Load) -> None:
    secret = "-".join(["can", "ary"])
    sasl = f"security.protocol: sasl_ssl, sasl.mechanism: PLAIN, sasl.username: me, sasl.password: {secret}"
    with pytest.raises(ConfigError, match="expected a reference to a secret") as raised:
        load(with_source(sasl)(SMALLEST))
    assert secret not in "".join(traceback.format_exception(raised.value))


@with_cases("reference", ["file:password", "file:./password", "file://password", "file:{}/password"])
def test_a_secret_file_is_relative_to_the_migration_file(load: Load, tmp_path: Path, reference: str) -> None:
    (tmp_path / "password").write_text("canary\n", encoding="utf-8")
    given = f"'{reference.format(tmp_path)}'"
    sasl = f"security.protocol: sasl_ssl, sasl.mechanism: PLAIN, sasl.username: me, sasl.password: {given}"
    migration = load(with_source(sasl)(SMALLEST))
    assert client_properties(migration.source)["sasl.password"] == "canary"
    (tmp_path / "password").unlink()
    with pytest.raises(SecretError, match="No such file"):
        client_properties(migration.source)


def test_a_secret_of_spark_stays_a_reference_until_a_session_is_opened(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("canary-key\n", encoding="utf-8")
    monkeypatch.setenv("TOKEN", "canary-token")
    monkeypatch.setenv("KEY_ID", "north")
    conf = "{spark.hadoop.fs.s3a.secret.key: 'file:key', spark.hadoop.fs.s3a.access.key: '${KEY_ID}'}"
    spark = load(SMALLEST + f"spark: {{remote: 'sc://h:1/;token=${{TOKEN}};user_id=me', conf: {conf}}}\n").spark
    assert "canary" not in repr(spark) + spark.model_dump_json()

    remote, resolved = resolve_spark(spark.remote, spark.conf, spark.folder)

    assert remote == "sc://h:1/;token=canary-token;user_id=me"
    assert dict(resolved) == {
        "spark.hadoop.fs.s3a.secret.key": "canary-key",
        "spark.hadoop.fs.s3a.access.key": "north",
    }
    assert "canary" not in f"{resolved} {resolved!r}"


@with_cases(
    ("spark", "key"),
    [
        ("remote: 'sc://h:1/;token=canary'", "spark.remote"),
        ("conf: {spark.hadoop.fs.s3a.secret.key: canary}", "spark.conf.spark.hadoop.fs.s3a.secret.key"),
        ("conf: {spark.ssl.keyStorePassword: canary}", "spark.conf.spark.ssl.keyStorePassword"),
        ("conf: {spark.hadoop.fs.azure.account.key.a.net: canary}", "spark.conf.spark.hadoop.fs.azure.account.key"),
    ],
)
def test_a_secret_of_spark_that_is_written_out_is_refused_and_not_repeated(load: Load, spark: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}.*: expected a reference to a secret") as raised:
        load(SMALLEST + f"spark: {{{spark}}}\n")
    assert "canary" not in "".join(traceback.format_exception(raised.value))


def test_an_unknown_checkpoint_lists_the_known_ones(load: Load) -> None:
    with pytest.raises(ConfigError, match="the file has: orders, far"):
        load(WHOLE).checkpoint("payments")


@with_cases(
    ("topics", "old", "new"),
    [
        pytest.param(TopicSettings(), "orders", "orders", id="identity"),
        pytest.param(TopicSettings(policy=NamingPolicy.DEFAULT), "orders", "dc1.orders", id="default"),
        pytest.param(TopicSettings(policy=NamingPolicy.DEFAULT, separator="_"), "orders", "dc1_orders", id="separator"),
        pytest.param(
            TopicSettings(policy=NamingPolicy.DEFAULT, map={"orders": "sales"}), "orders", "sales", id="map-wins"
        ),
    ],
)
def test_topic_names_go_both_ways(topics: TopicSettings, old: str, new: str) -> None:
    assert topics.rename(old, "dc1") == new
    assert topics.origin(new, "dc1") == old


def test_a_new_topic_that_no_old_one_maps_to_has_no_origin() -> None:
    assert TopicSettings(policy=NamingPolicy.DEFAULT).origin("orders", "dc1") is None
    assert TopicSettings(map={"orders": "sales"}).origin("orders", "dc1") is None


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    of_kinesis = "name: a\n" + "".join(
        f"{side}: {{stream: kinesis, properties: {{region: us-east-1}}}}\n" for side in ("source", "target")
    )
    for text in (SMALLEST, WHOLE, with_sinks("out")(SMALLEST), of_kinesis):
        validator.validate(yaml.safe_load(text))


@with_cases(
    "change",
    [
        {"writer": "mixed"},
        {"source": {"properties": {}}},
        {"sinks": [{"properties": {"bootstrap.servers": "a:1"}}]},
        {"source": {"properties": {"bootstrap.servers": "a:1", "plugin.library.paths": "x"}}},
    ],
)
def test_the_schema_refuses_unknown_keys_and_properties(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(yaml.safe_load(SMALLEST) | change)


def test_a_cluster_made_in_code_is_checked_before_use() -> None:
    with pytest.raises(ForbiddenPropertyError):
        client_properties(ClusterConfig(name="old", properties={"bootstrap.servers": "a:1", "debug": "all"}))


@with_cases("timeout_ms", [0, -1, 2**31, 10**18])
def test_a_time_out_that_kafka_does_not_take_is_refused(load: Load, timeout_ms: int) -> None:
    job = f"checkpoints: [{{name: a, uri: ./a, job: {{transaction_timeout_ms: {timeout_ms}}}}}]\n"
    with pytest.raises(ConfigError, match=r"transaction_timeout_ms cannot be used: .*(2147483647|1)\."):
        load(SMALLEST + job)
    assert load(SMALLEST + job.replace(str(timeout_ms), str(2**31 - 1))).checkpoints[0].job.transaction_timeout_ms
