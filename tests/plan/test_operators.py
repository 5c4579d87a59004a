"""A patch is one that its operator's own definition of the resource takes, and changes nothing but what it is for."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

import offsetwise as ow
from offsetwise import files
from offsetwise.engines.registry import engines
from offsetwise.errors import PlanError, UsageError
from offsetwise.model import Plan, Target
from offsetwise.plan.operators.choice import new_servers, patch_for, patches
from offsetwise.plan.operators.patch import Deployment
from offsetwise.plan.target import TargetRole, target_type, target_types
from tests.commands import Ran, call
from tests.plan.scene import COPY, ETL, IN_PLACE, SEEDED, STARTING, drafted
from tests.with_cases import with_cases

CRDS: Final = Path(__file__).parents[1] / "data" / "crds"
LIBRARY: Final = Path(ow.__file__).parent
FLINK: Final = "flinkdeployments.flink.apache.org-v1.yml"
SPARK: Final = "sparkoperator.k8s.io_sparkapplications.yaml"
SAVEPOINT: Final = Target(kind="flink-savepoint")
Body = dict[str, Any]

FLINK_DEPLOYMENT: Final = """
apiVersion: flink.apache.org/v1beta1
kind: FlinkDeployment
metadata: {name: orders, labels: {team: a}}
spec:
  image: flink:1.20
  flinkVersion: v1_20
  flinkConfiguration: {taskmanager.numberOfTaskSlots: "2", state.savepoints.dir: "s3://b/savepoints"}
  serviceAccount: flink
  jobManager: {resource: {memory: 2048m, cpu: 1}}
  taskManager: {resource: {memory: 2048m, cpu: 1}}
  job:
    jarURI: local:///opt/job.jar
    args: [--topic, orders]
    parallelism: 2
    upgradeMode: savepoint
    state: suspended
"""
SPARK_APPLICATION: Final = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: orders}
spec:
  type: Python
  mode: cluster
  sparkVersion: 4.0.0
  mainApplicationFile: local:///opt/job.py
  arguments: [--topic, orders]
  sparkConf: {spark.sql.shuffle.partitions: "8"}
  suspend: true
  driver: {cores: 1, memory: 512m, env: [{name: TEAM, value: a}]}
  executor: {instances: 1, cores: 1, memory: 512m}
"""
RESOURCES: Final = {"flink-operator": (FLINK, FLINK_DEPLOYMENT), "spark-operator": (SPARK, SPARK_APPLICATION)}


@cache
def pinned(name: str) -> bytes:
    return gzip.decompress((CRDS / f"{name}.gz").read_bytes())


@cache
def definition(name: str) -> tuple[str, jsonschema.Draft202012Validator]:
    """Return the version of a resource and what validates one, which takes no field that the API server would drop."""
    body = yaml.load(pinned(name), yaml.CSafeLoader)
    (version,) = body["spec"]["versions"]
    top = version["schema"]["openAPIV3Schema"]
    # These three every resource has, whether its definition names them or not.
    top["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return f"{body['spec']['group']}/{version['name']}", jsonschema.Draft202012Validator(closed(top))


def closed(part: Any) -> Any:
    """Refuse what a structural schema does not name: the API server drops it without a word."""
    if isinstance(part, list):
        return [closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    results = {key: closed(value) for key, value in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("type") == "object":
        results.setdefault("additionalProperties", bool(part.get("x-kubernetes-preserve-unknown-fields")))
    return results


def merged(resource: Any, patch: Any) -> Any:
    """Apply a merge patch, as RFC 7396 says and `kubectl patch --type merge` does."""
    if not isinstance(patch, dict):
        return patch
    results = dict(resource) if isinstance(resource, dict) else {}
    for key, value in patch.items():
        if value is None:
            results.pop(key, None)
        else:
            results[key] = merged(results.get(key), value)
    return results


def deployment(**changes: Any) -> Deployment:
    given = {"resource": "orders", "location": "s3://b/new", "servers": "kafka:9092"}
    return Deployment(**(given | changes))


def text(form: str, *, digest: str = "0" * 64, **changes: Any) -> str:
    plan = drafted() if form == "spark-operator" else replace(drafted(), targets=(SAVEPOINT,))
    return patch_for(plan, form)[0].text(deployment(**changes), digest)


def test_the_definitions_are_those_that_are_named() -> None:
    named = json.loads((CRDS / "SOURCES.json").read_text(encoding="utf-8"))

    assert {path.name.removesuffix(".gz") for path in CRDS.glob("*.gz")} == named.keys()
    assert {name: hashlib.sha256(pinned(name)).hexdigest() for name in named} == {
        name: source["sha256"] for name, source in named.items()
    }


@with_cases("form", RESOURCES)
@with_cases("servers", ["kafka:9092", None])
def test_a_patched_resource_is_valid_and_keeps_the_rest(form: str, servers: str | None) -> None:
    name, manifest = RESOURCES[form]
    version, validator = definition(name)
    resource = yaml.safe_load(manifest)
    validator.validate(resource)

    patch = yaml.safe_load(text(form, servers=servers))

    assert patch["apiVersion"] == version
    assert (patch["kind"], patch["metadata"]) == (resource["kind"], {"name": "orders"})
    result = merged(resource, patch)
    validator.validate(result)
    lost = {key for key, value in resource["spec"].items() if key not in patch["spec"] and result["spec"][key] != value}
    assert not lost
    assert not any(isinstance(value, list) for value in flat(patch)), "a merge replaces a list whole"
    for key in ("flinkConfiguration", "sparkConf"):
        assert result["spec"].get(key, {}).items() >= resource["spec"].get(key, {}).items()


def flat(value: Any) -> list[Any]:
    return [value, *(each for part in value.values() for each in flat(part))] if isinstance(value, dict) else [value]


def test_the_schema_refuses_what_the_resource_does_not_have() -> None:
    for name, manifest in RESOURCES.values():
        resource = yaml.safe_load(manifest)
        resource["spec"]["initialSavepointPath"] = "s3://b/new"
        with pytest.raises(jsonschema.ValidationError, match="initialSavepointPath"):
            definition(name)[1].validate(resource)


def test_the_flink_operator_starts_from_the_savepoint_by_a_new_nonce() -> None:
    patch = yaml.safe_load(text("flink-operator", digest="00000010" + "f" * 56))

    assert patch["spec"] == {
        "job": {
            "initialSavepointPath": "s3://b/new",
            "savepointRedeployNonce": 17,
            "state": "running",
            "upgradeMode": "savepoint",
        },
        "flinkConfiguration": {
            "containerized.master.env.KAFKA_BOOTSTRAP_SERVERS": "kafka:9092",
            "containerized.taskmanager.env.KAFKA_BOOTSTRAP_SERVERS": "kafka:9092",
        },
    }


def test_the_nonce_is_that_of_the_plan_and_fits_a_long() -> None:
    nonces = {
        digit: yaml.safe_load(text("flink-operator", digest=digit * 64))["spec"]["job"]["savepointRedeployNonce"]
        for digit in "0f"
    }

    assert nonces == {"0": 1, "f": 1 << 32}
    assert text("flink-operator") == text("flink-operator"), "the same plan gives the same patch"


def test_the_spark_operator_hands_both_to_the_driver() -> None:
    patch = yaml.safe_load(text("spark-operator", location="/mnt/new", servers_env="BROKERS", checkpoint_env="STATE"))

    assert patch["spec"] == {
        "sparkConf": {
            "spark.kubernetes.driverEnv.STATE": "file:///mnt/new",
            "spark.kubernetes.driverEnv.BROKERS": "kafka:9092",
        },
        "suspend": False,
    }


def test_what_is_no_yaml_of_its_own_stays_text() -> None:
    hostile = "s3://b/new: {x: 1} # y\n- z"

    patch = yaml.safe_load(text("spark-operator", location=hostile, servers="no"))

    assert list(patch["spec"]["sparkConf"].values()) == [hostile, "no"]
    assert patch["spec"].keys() == {"sparkConf", "suspend"}


def test_every_target_that_a_job_of_these_engines_starts_from_has_a_patch() -> None:
    assert {type_.name: [patch.name for patch in type_.patches] for type_ in target_types() if type_.patches} == {
        "spark-checkpoint": ["spark-operator"],
        "spark-checkpoint-in-place": ["spark-operator"],
        "seeded-checkpoint": ["spark-operator"],
        "flink-savepoint": ["flink-operator"],
        "flink-savepoint-without-sources": ["flink-operator"],
        "flink-savepoint-from-positions": ["flink-operator"],
        "flink-savepoint-converted": ["flink-operator"],
    }
    assert {type_.name for type_ in target_types() if type_.role is TargetRole.STATE and not type_.patches} == set()
    assert {name.removesuffix("-operator") for name in patches()} <= {engine.name for engine in engines()}


@with_cases(
    ("plan", "form"),
    [
        pytest.param(lambda: drafted(None, STARTING), "spark-operator", id="a file"),
        pytest.param(lambda: drafted(None, ETL), "flink-operator", id="a group"),
        pytest.param(drafted, "flink-operator", id="another engine"),
    ],
)
def test_a_plan_that_no_job_starts_from_is_refused(plan: Any, form: str) -> None:
    with pytest.raises(PlanError, match=f"expected a plan that writes what {form} starts a job from") as refused:
        patch_for(plan(), form)

    assert "Draft a plan with one of these targets: " in refused.value.fix
    for name in (
        refused.value.fix.removeprefix("Draft a plan with one of these targets: ").partition(";")[0].split(", ")
    ):
        assert target_type(name).patches


@with_cases(
    ("changes", "problem"),
    [
        ({"resource": "Orders_1"}, "expected the name of a resource of Kubernetes, found 'Orders_1'"),
        ({"resource": "a\n# b"}, "expected the name of a resource"),
        ({"location": "applied/orders"}, "expected an absolute path or a URI, found 'applied/orders'"),
        ({"servers_env": "A-B"}, "expected the name of an environment variable, found 'A-B'"),
        ({"checkpoint_env": "1A"}, "expected the name of an environment variable, found '1A'"),
    ],
    ids=["a name", "two lines", "a relative path", "a variable", "a digit first"],
)
def test_what_cannot_be_in_a_patch_is_refused(changes: Body, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        deployment(**changes)


def test_the_servers_are_those_of_the_new_cluster_of_its_migration() -> None:
    sample = ow.Migration.load(LIBRARY / "sample" / "migration.yaml").settings
    plan = replace(drafted(), migration=sample.name)

    assert new_servers(plan, sample) == "127.0.0.1:29092"
    kinesis = ow.Migration.load(LIBRARY / "sample_kinesis" / "migration.yaml").settings
    assert new_servers(replace(plan, migration=kinesis.name), kinesis) is None
    with pytest.raises(PlanError, match="expected one of migration"):
        new_servers(plan, kinesis)


# ------------------------------------------------------------------------------------------------------- the command


def export(folder: Path, plan: Plan, *more: str | Path) -> Ran:
    path = folder / "plan.json"
    path.write_text(files.dump(plan), encoding="utf-8")
    return call("export", path, *more)


@pytest.fixture
def migration(tmp_path: Path) -> Path:
    """A migration file of the plans of `tests.plan.scene`."""
    clusters = {side: {"properties": {"bootstrap.servers": f"{side}:9092"}} for side in ("source", "target")}
    path = tmp_path / "migration.yaml"
    path.write_text(yaml.safe_dump({"name": drafted().migration, **clusters}), encoding="utf-8")
    return path


@with_cases(
    ("target", "output", "location"),
    [
        (COPY, ["--output", "s3a://b/new"], "s3a://b/new"),
        (SEEDED, ["--output", "/mnt/new"], "file:///mnt/new"),
        (IN_PLACE, [], "file:///checkpoints/orders"),
    ],
    ids=["a copy", "a fresh one", "in place"],
)
def test_the_command_prints_the_patch_of_what_is_written(
    tmp_path: Path, migration: Path, target: Target, output: list[str], location: str
) -> None:
    ran = export(
        tmp_path, drafted(None, target), "--as", "spark-operator", "--name", "orders", "-m", migration, *output
    )

    assert ran.code == 0, ran.err
    body = yaml.safe_load(ran.out)
    assert body["spec"]["sparkConf"] == {
        "spark.kubernetes.driverEnv.CHECKPOINT_LOCATION": location,
        "spark.kubernetes.driverEnv.KAFKA_BOOTSTRAP_SERVERS": "target:9092",
    }
    assert ow.Plan.load(tmp_path / "plan.json").digest in ran.out


def test_of_several_outputs_it_is_the_one_that_the_job_starts_from(tmp_path: Path, migration: Path) -> None:
    both = drafted(None, COPY, STARTING)
    ran = export(tmp_path, both, "--as", "spark-operator", "--name", "o", "-m", migration, "--output", "/mnt/new")

    assert "CHECKPOINT_LOCATION: file:///mnt/new/spark-checkpoint\n" in ran.out


@with_cases(
    ("more", "problem"),
    [
        (["--as", "spark-operator"], "expected --name with the patch for an operator"),
        (["--as", "starting-offsets", "--name", "a"], "expected --name with the patch for an operator"),
        (["--as", "starting-offsets", "--output", "/a"], "expected --name with the patch for an operator"),
        (["--as", "spark-operator", "--name", "a", "--output", "/a"], "expected the migration"),
        (["--as", "spark-operator", "--name", "a", "-m", "migration.yaml"], "expected the output"),
        (["--as", "spark-operator", "--name", "a", "--trust", "k.pub"], "expected --out with --as zip"),
        (["--as", "nomad"], "flink-operator or zip, found 'nomad'"),
    ],
    ids=["no name", "another form", "an output", "no migration", "no output", "a key", "no form"],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, migration: Path, more: list[str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(migration.parent)

    assert problem in export(tmp_path, drafted(), *more, "--json").refused()["problem"]
