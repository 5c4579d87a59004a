"""A migration file of somebody else runs no code, and sends no secret that its reader did not mean for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from offsetwise.client_properties import ALLOWED, FORBIDDEN, check_allowed
from offsetwise.client_properties.property_files import given_cluster
from offsetwise.client_properties.spark import own_properties
from offsetwise.client_properties.spark_allowed import ALLOWED_OF_SPARK, check_server
from offsetwise.config import SparkSettings, client_properties, load_migration, schema
from offsetwise.errors import ConfigError, ForbiddenPropertyError, SecretError
from offsetwise.model import Cluster
from offsetwise.pipeline.session import open_session
from offsetwise.survey.link import config_of
from tests.commands import COMMAND, call
from tests.with_cases import with_cases

NAMES_CODE = re.compile(
    r"(class|classes|classpath|plugins?|listeners?|jars?|packages|repositories|files?|archives|command|script|python"
    r"|extensions?|options|librarypath|dir|directory|path|provider|factory|serializer|codec|registrator|module|daemon"
    r"|image|template\w*|filters?|conf|keytab|layout|manager|worker|url|uri|home|ivysettings|implementation|steps)$",
    re.IGNORECASE,
)
"""How the name of a property of Spark ends whose value names code, a file or an address."""
NO_CODE = {"spark.app.name"}
CODE = {
    "spark.pyspark.python": "{folder}/python",
    "spark.pyspark.driver.python": "{folder}/python",
    "spark.python.daemon.module": "evil",
    "spark.python.worker.module": "evil",
    "spark.plugins": "evil.Plugin",
    "spark.extraListeners": "evil.Listener",
    "spark.sql.extensions": "evil.Extensions",
    "spark.sql.queryExecutionListeners": "evil.Listener",
    "spark.sql.streaming.streamingQueryListeners": "evil.Listener",
    "spark.sql.catalog.spark_catalog": "evil.Catalog",
    "spark.sql.warehouse.dir": "{folder}",
    "spark.driver.extraJavaOptions": "-javaagent:{folder}/a.jar",
    "spark.driver.defaultJavaOptions": "-javaagent:{folder}/a.jar",
    "spark.executor.extraJavaOptions": "-XX:OnOutOfMemoryError={folder}/python",
    "spark.executor.defaultJavaOptions": "-XX:Flags={folder}/flags",
    "spark.driver.extraClassPath": "{folder}",
    "spark.driver.extraLibraryPath": "{folder}",
    "spark.executor.extraClassPath": "{folder}",
    "spark.jars": "{folder}/a.jar",
    "spark.jars.packages": "evil:evil:1",
    "spark.jars.repositories": "https://evil.example",
    "spark.jars.ivySettings": "{folder}/ivy.xml",
    "spark.files": "{folder}/python",
    "spark.archives": "{folder}/a.zip",
    "spark.submit.pyFiles": "{folder}/evil.py",
    "spark.executorEnv.PYTHONPATH": "{folder}",
    "spark.executorEnv.LD_PRELOAD": "{folder}/evil.so",
    "spark.yarn.appMasterEnv.PYTHONPATH": "{folder}",
    "spark.kubernetes.container.image": "evil",
    "spark.kubernetes.driver.podTemplateFile": "{folder}/pod.yaml",
    "spark.serializer": "evil.Serializer",
    "spark.closure.serializer": "evil.Serializer",
    "spark.kryo.registrator": "evil.Registrator",
    "spark.shuffle.manager": "evil.Manager",
    "spark.io.compression.codec": "evil.Codec",
    "spark.metrics.conf.driver.sink.evil.class": "evil.Sink",
    "spark.ui.filters": "evil.Filter",
    "spark.eventLog.dir": "{folder}",
    "spark.local.dir": "{folder}",
    "spark.driver.host": "evil.example",
    "spark.worker.resource.gpu.discoveryScript": "{folder}/python",
    "spark.driver.resource.gpu.discoveryScript": "{folder}/python",
    "spark.r.command": "{folder}/python",
    "spark.master": "spark://evil.example:7077",
    "spark.remote": "sc://evil.example",
    "spark.api.mode": "connect",
    "spark.redaction.regex": "$^",
    "spark.hadoop.fs.file.impl": "evil.FileSystem",
    "spark.hadoop.fs.s3a.impl": "evil.FileSystem",
    "spark.hadoop.fs.s3a.aws.credentials.provider": "evil.Provider",
    "spark.hadoop.fs.s3a.bucket.lake.aws.credentials.provider": "evil.Provider",
    "spark.hadoop.fs.s3a.security.credential.provider.path": "jceks://file/etc/passwd",
    "spark.hadoop.fs.azure.account.oauth.provider.type": "evil.Provider",
    "spark.hadoop.fs.azure.account.keyprovider.lake.dfs.core.windows.net": "evil.Provider",
    "spark.hadoop.fs.azure.shellkeyprovider.script": "{folder}/python",
    "spark.hadoop.fs.gs.auth.service.account.json.keyfile": "/etc/key.json",
    "spark.hadoop.fs.gs.storage.root.url": "https://evil.example",
    "spark.hadoop.hadoop.security.group.mapping": "evil.Mapping",
    "spark.hadoop.hadoop.security.credential.provider.path": "jceks://file/etc/passwd",
    "spark.kafka.clusters.evil.auth.bootstrap.servers": "evil.example:9092",
}
"""Properties of Spark and Hadoop that run code, read files or lead elsewhere, as somebody would write them."""
VALUES = {
    "spark.driver.memory": ("1g -javaagent:/a.jar", "1g\n-javaagent:/a.jar", "${HOME}", "file:/etc/passwd", ""),
    "spark.sql.shuffle.partitions": ("${env:HOME}", "2;3", "true"),
    "spark.app.name": ("${env:HOME}", "${spark.hadoop.x}", "a\nb", "$(id)", "x" * 201),
    "spark.ui.enabled": ("${HOME}", "yes", "1"),
    "spark.hadoop.fs.s3a.endpoint": ("https://evil.example/${env.HOME}", "https://me:pw@evil.example", "file:///etc"),
    "spark.hadoop.fs.s3a.access.key": ("${env.HOME}", "file:/etc/passwd"),
    "spark.hadoop.fs.s3a.encryption.algorithm": ("CSE-CUSTOM",),
    "spark.hadoop.fs.azure.account.auth.type": ("Custom", "OAuth"),
}
"""Values that allowed properties do not take."""
PLANTED = """#!/bin/sh
echo ran > {folder}/ran
exec {python} "$@"
"""
SASL = {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
SERVERS = {"bootstrap.servers": "evil.example:9092"}
CANARY = "-----BEGIN PRIVATE KEY-----canary-of-mine"

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Write a migration file into a folder of its own; nothing is set in the environment."""
    for name in ("OFFSETWISE_SECRETS", "OFFSETWISE_SPARK_CONF", "OFFSETWISE_SPARK_SERVERS"):
        monkeypatch.delenv(name, raising=False)

    def write(*, source: dict[str, str] | None = None, **keys: Any) -> Path:
        body = {
            "name": "theirs",
            "source": {"properties": SERVERS | (source or {})},
            "target": {"properties": {"bootstrap.servers": "new.example:9092"}},
            **keys,
        }
        path = tmp_path / "theirs" / "migration.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
        return path

    return write


class TestSparkRunsNoCode:
    @with_cases("name", CODE)
    def test_a_property_that_can_name_code_or_a_file_is_refused_by_name(self, name: str, written: Written) -> None:
        value = CODE[name].format(folder="/tmp")
        with pytest.raises(ForbiddenPropertyError, match=re.escape(f"spark.conf.{name}: expected")) as caught:
            load_migration(written(spark={"conf": {name: value}}))

        assert "OFFSETWISE_SPARK_CONF" in caught.value.fix

    def test_of_all_properties_that_spark_itself_knows_none_that_names_code_is_allowed(self) -> None:
        known = known_to_spark()
        code = [name for name in known if NAMES_CODE.search(name.rpartition(".")[2])]

        assert len(known) > 1000
        assert len(code) > 80
        for name in code:
            with pytest.raises(ForbiddenPropertyError):
                check_allowed({name: "1"})
        assert {name for name in ALLOWED_OF_SPARK if NAMES_CODE.search(name.rpartition(".")[2])} <= NO_CODE

    @given(st.from_regex(r"(spark|hadoop)(\.[a-zA-Z0-9_-]{1,12}){1,5}", fullmatch=True))
    def test_whatever_is_not_on_the_list_is_refused(self, name: str) -> None:
        pattern = schema()["$defs"]["SparkSettings"]["properties"]["conf"]["propertyNames"]["pattern"]
        if not re.search(pattern, name):
            with pytest.raises(ForbiddenPropertyError):
                check_allowed({name: "1"})

    @with_cases(("name", "value"), [(name, value) for name, values in VALUES.items() for value in values])
    def test_a_value_that_could_lead_further_is_refused_and_not_repeated(
        self, name: str, value: str, written: Written
    ) -> None:
        with pytest.raises(ConfigError) as caught:
            load_migration(written(spark={"conf": {name: value}}))

        assert f"spark.conf.{name}: expected" in caught.value.problem
        assert len(value) < 4 or value not in caught.value.problem

    @with_cases(
        "conf",
        [
            {"spark.driver.memory": "2g", "spark.executor.cores": 4, "spark.ui.enabled": False},
            {"spark.sql.shuffle.partitions": 8, "spark.app.name": "orders to new", "spark.memory.fraction": "0.7"},
            {"spark.hadoop.fs.s3a.endpoint": "http://minio:9000", "spark.hadoop.fs.s3a.path.style.access": True},
            {"spark.hadoop.fs.s3a.bucket.lake.secret.key": "file:key", "spark.network.timeout": "300s"},
            {"spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": "${KEY}"},
        ],
    )
    def test_what_sizes_a_session_and_reaches_a_store_is_taken(self, conf: dict[str, Any], written: Written) -> None:
        assert load_migration(written(spark={"conf": conf})).spark.conf.keys() == conf.keys()

    def test_a_command_refuses_before_anything_starts(self, written: Written, tmp_path: Path) -> None:
        python = planted(tmp_path)
        path = written(spark={"conf": {"spark.pyspark.python": str(python)}})

        error = call("compare", "--migration", path, "--all", "--json").refused()

        assert error["error"] == "ForbiddenPropertyError"
        assert "spark.pyspark.python" in error["problem"]
        assert not (tmp_path / "ran").exists()

    def test_the_users_own_file_may_name_code_and_wins(self, tmp_path: Path) -> None:
        (tmp_path / "spark.conf").write_text(f"# mine\nspark.pyspark.python  {planted(tmp_path)}\n", encoding="utf-8")
        work = (
            "from offsetwise.config import SparkSettings\n"
            "from offsetwise.pipeline.session import close_session, open_session\n"
            "spark = open_session(SparkSettings(master='local[1]'), kafka=False)\n"
            "print(spark.range(3).mapInArrow(lambda rows: rows, 'id long').count())\n"
            "close_session()\n"
        )
        environment = {**os.environ, "OFFSETWISE_SPARK_CONF": str(tmp_path / "spark.conf")}
        ran = subprocess.run([sys.executable, "-c", work], env=environment, capture_output=True, text=True, check=True)

        assert ran.stdout == "3\n"
        assert (tmp_path / "ran").exists()

    @with_cases("text", ["spark.master yarn\n", "spark.remote=sc://a:1\n", "hadoop.x y\n"])
    def test_the_users_own_file_has_properties_of_spark_only(
        self, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "spark.conf").write_text(text, encoding="utf-8")
        monkeypatch.setenv("OFFSETWISE_SPARK_CONF", str(tmp_path / "spark.conf"))

        with pytest.raises(ConfigError, match="expected properties of Spark"):
            own_properties()

    @with_cases(
        "spark",
        [
            {"remote": "sc://evil.example"},
            {"remote": "sc://127.0.0.1:15002"},
            {"remote": "sc://mine.example:15002@evil.example"},
            {"remote": "sc://mine.example:15003/;token=${TOKEN}"},
            {"master": "spark://evil.example:7077"},
            {"master": "spark://mine.example:7077,evil.example:7077"},
            {"master": "k8s://https://evil.example"},
            {"master": "yarn"},
            {"master": "local-cluster[1,1,1024]"},
            {"master": "local[2] --conf spark.plugins=a"},
        ],
    )
    def test_a_server_that_the_user_does_not_name_is_refused(
        self, spark: dict[str, str], written: Written, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OFFSETWISE_SPARK_SERVERS", "sc://mine.example spark://mine.example:7077")

        with pytest.raises(ConfigError, match="expected a local master, or a server that OFFSETWISE_SPARK_SERVERS"):
            load_migration(written(spark=spark))

    @with_cases(
        "spark",
        [
            {"remote": "sc://mine.example"},
            {"remote": "sc://MINE.example:15002/;use_ssl=true;token=${TOKEN}"},
            {"remote": "sc://[::1]:15002"},
            {"master": "spark://mine.example:7077"},
            *({"master": master} for master in ("local", "local[4]", "local[*]", "local[*,3]")),
        ],
    )
    def test_a_server_that_the_user_names_is_used(
        self, spark: dict[str, str], written: Written, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        named = "sc://mine.example:15002 spark://mine.example:7077 sc://[::1]"
        monkeypatch.setenv("OFFSETWISE_SPARK_SERVERS", named)

        assert load_migration(written(spark=spark)).spark.model_dump(exclude_none=True, exclude={"conf"}) == spark

    def test_a_token_in_an_address_that_is_refused_is_not_repeated(self) -> None:
        with pytest.raises(ConfigError) as caught:
            check_server("spark.remote", "sc://evil.example;token=canary/;token=canary")

        assert "canary" not in str(caught.value)


class TestNoSecretIsSent:
    @with_cases("name", sorted(name for name, known in ALLOWED.items() if not known.may_refer))
    @with_cases("reference", ["file:{secret}", "${{MINE}}"])
    def test_only_a_credential_may_be_a_reference(
        self, name: str, reference: str, written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secret = tmp_path / "theirs" / "secret"
        monkeypatch.setenv("MINE", CANARY)
        path = written(source={name: reference.format(secret=secret)})
        secret.write_text(CANARY, encoding="utf-8")

        with pytest.raises(ConfigError, match=re.escape(f"{name}: expected")) as caught:
            client_properties(load_migration(path).source)

        assert "which only credentials may have" in caught.value.problem
        assert "canary" not in "".join(traceback.format_exception(caught.value))

    def test_every_property_that_may_be_one_is_a_credential(self) -> None:
        assert sorted(name for name, known in ALLOWED.items() if known.may_refer) == [
            *("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.token.endpoint.url"),
            *("sasl.password", "sasl.username", "ssl.ca.pem", "ssl.certificate.pem"),
            *("ssl.key.password", "ssl.key.pem", "ssl.keystore.password"),
        ]

    @with_cases("name", sorted(name for name, known in ALLOWED.items() if known.may_refer))
    @with_cases(
        "spelling",
        ["file:{home}/.ssh/id", "file://{home}/.ssh/id", "file:../home/.ssh/id", "file:link", "file:linked/.ssh/id"],
    )
    def test_a_file_elsewhere_is_not_read_however_it_is_spelled(
        self, name: str, spelling: str, written: Written, tmp_path: Path
    ) -> None:
        home = home_with_a_secret(tmp_path)
        needed = needed_by(name)
        path = written(source={**needed, name: spelling.format(home=home)})
        (path.parent / "link").symlink_to(home / ".ssh" / "id")
        (path.parent / "linked").symlink_to(home)

        with pytest.raises(SecretError, match="OFFSETWISE_SECRETS") as caught:
            client_properties(load_migration(path).source)

        assert f"properties.{name}: expected a file below a folder" in caught.value.problem
        assert "canary" not in "".join(traceback.format_exception(caught.value))

    @with_cases("hidden", [".ssh/id", ".password", "deep/.hidden/password"])
    def test_a_hidden_file_beside_the_migration_file_is_not_read(
        self, hidden: str, written: Written, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(source={**SASL, "sasl.password": f"file:{hidden}"})
        secret = path.parent / hidden
        secret.parent.mkdir(parents=True, exist_ok=True)
        secret.write_text("canary", encoding="utf-8")
        with pytest.raises(SecretError, match=r"one in .* that is not hidden"):
            client_properties(load_migration(path).source)

        monkeypatch.setenv("OFFSETWISE_SECRETS", str(secret.parent))
        assert client_properties(load_migration(path).source)["sasl.password"] == "canary"

    @with_cases("listed", ["{secrets}", "/nowhere:{secrets}/", "{secrets}/password", "{above}/linked"])
    def test_a_folder_or_file_that_the_user_lists_may_be_used(
        self, listed: str, written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secrets = tmp_path / "secrets"
        secrets.mkdir()
        (tmp_path / "linked").symlink_to(secrets)
        (secrets / "password").write_text("canary\n", encoding="utf-8")
        monkeypatch.setenv("OFFSETWISE_SECRETS", listed.format(secrets=secrets, above=tmp_path))
        path = written(source={**SASL, "sasl.password": f"file:{secrets}/password"})

        assert client_properties(load_migration(path).source)["sasl.password"] == "canary"

    def test_a_folder_whose_name_only_begins_alike_is_another(
        self, written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("secrets", "secrets-of-others", "theirs-too"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "password").write_text("canary", encoding="utf-8")
        monkeypatch.setenv("OFFSETWISE_SECRETS", str(tmp_path / "secrets"))

        for name in ("secrets-of-others", "theirs-too"):
            path = written(source={**SASL, "sasl.password": f"file:{tmp_path}/{name}/password"})
            with pytest.raises(SecretError, match="expected a file below"):
                client_properties(load_migration(path).source)

    def test_a_link_that_was_exchanged_after_loading_is_not_followed(self, written: Written, tmp_path: Path) -> None:
        path = written(source={**SASL, "sasl.password": "file:password"})
        password = path.parent / "password"
        password.write_text("right", encoding="utf-8")
        migration = load_migration(path)
        assert client_properties(migration.source)["sasl.password"] == "right"

        password.unlink()
        password.symlink_to(home_with_a_secret(tmp_path) / ".ssh" / "id")

        with pytest.raises(SecretError, match="which leads to"):
            client_properties(migration.source)

    @with_cases(("listed", "taken"), [("/run/x", True), ("OLD_*:NEW_*", False), ("/run/x:MINE", True)])
    def test_variables_are_those_that_the_user_lists_if_any(
        self, listed: str, taken: bool, written: Written, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MINE", "canary")
        monkeypatch.setenv("OFFSETWISE_SECRETS", listed)
        migration = load_migration(written(source={**SASL, "sasl.password": "${MINE}"}))
        if taken:
            assert client_properties(migration.source)["sasl.password"] == "canary"
        else:
            with pytest.raises(SecretError, match="expected a variable that OFFSETWISE_SECRETS lists, found MINE"):
                client_properties(migration.source)

    @with_cases("name", ["spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.azure.sas.fixed.token"])
    def test_sparks_secrets_are_bound_alike(self, name: str, written: Written, tmp_path: Path) -> None:
        home = home_with_a_secret(tmp_path)
        settings = load_migration(written(spark={"conf": {name: f"file:{home}/.ssh/id"}})).spark

        with pytest.raises(SecretError, match=f"spark.conf.{re.escape(name)}: expected a file below"):
            open_session(settings, kafka=False)

    def test_a_property_file_that_init_is_given_is_bound_alike(self, tmp_path: Path) -> None:
        home = home_with_a_secret(tmp_path)
        (tmp_path / "theirs").mkdir()
        path = tmp_path / "theirs" / "client.properties"
        lines = {**SERVERS, **SASL, "sasl.password": f"file:{home}/.ssh/id"}
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")

        with pytest.raises(SecretError, match="expected a file below"):
            client_properties(config_of(Cluster.OLD, given_cluster(str(path), prefix="OLD", option="--old")))

    @with_cases("url", ["FILE:///etc/passwd", "file:///etc/passwd", "ftp://evil.example", "//evil", "x"])
    def test_a_token_is_fetched_from_the_web_only(self, url: str, written: Written) -> None:
        name = "sasl.oauthbearer.token.endpoint.url"
        with pytest.raises(ConfigError, match=re.escape(name)):
            client_properties(load_migration(written(source={**needed_by(name), name: url})).source)

    @with_cases("name", sorted(FORBIDDEN))
    def test_what_makes_a_client_run_code_is_refused(self, name: str, written: Written) -> None:
        with pytest.raises(ForbiddenPropertyError):
            load_migration(written(source={name: "x"}))

    def test_no_command_sends_a_secret_of_this_user(self, written: Written, tmp_path: Path) -> None:
        home = home_with_a_secret(tmp_path)
        for properties in ({"client.id": f"file:{home}/.ssh/id"}, {**SASL, "sasl.password": f"file:{home}/.ssh/id"}):
            path = written(source=properties)
            ran = subprocess.run(
                [COMMAND, "snapshot", "-m", path, "--cluster", "old", "--out", tmp_path / "snapshot.json", "--json"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 1
            assert "somebody else may have written this file" in ran.stdout or "whoever wrote this file" in ran.stdout
            assert "canary" not in ran.stdout + ran.stderr


def needed_by(name: str) -> dict[str, str]:
    """Return what makes a source valid that has the property."""
    if name.startswith("sasl.oauthbearer"):
        oidc = {"sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.client.id": "me"}
        more = {"sasl.oauthbearer.client.secret": "${PATH}", "sasl.oauthbearer.token.endpoint.url": "https://id/token"}
        return {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", **oidc, **more}
    if name.startswith("sasl."):
        return {**SASL, "sasl.password": "${PATH}"}
    return {"security.protocol": "ssl"}


def home_with_a_secret(folder: Path) -> Path:
    """Make somebody's home folder with a key in it."""
    home = folder / "home"
    (home / ".ssh").mkdir(parents=True, exist_ok=True)
    (home / ".ssh" / "id").write_text(CANARY, encoding="utf-8")
    return home


def planted(folder: Path) -> Path:
    """Write a Python that leaves a trace when it runs."""
    python = folder / "python"
    python.write_text(PLANTED.format(folder=folder, python=sys.executable), encoding="utf-8")
    python.chmod(0o755)
    return python


def known_to_spark() -> list[str]:
    """Return every property that this Spark registers, from its own register."""
    spark: SparkSession = open_session(SparkSettings(master="local[1]"), kafka=False)
    java: Any = spark.sparkContext._jvm
    assert java is not None
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    for name in ("internal.config.package$", "internal.config.Python$", "internal.config.UI$", "sql.internal.SQLConf$"):
        java.java.lang.Class.forName(f"org.apache.spark.{name}", True, loader)
    register = java.java.lang.Class.forName("org.apache.spark.internal.config.ConfigEntry$")
    known = register.getDeclaredField("knownConfigs")
    known.setAccessible(True)
    return sorted(str(name) for name in known.get(register.getField("MODULE$").get(None)).keySet())
