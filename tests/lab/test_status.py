"""The session's lab, looked at."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offsetwise.cli.lab import app
from offsetwise.lab import Lab
from offsetwise.lab.progress import read_to_end
from tests.commands import Ran, call


def test_up_twice_leaves_running_brokers_alone(lab: Lab) -> None:
    before = lab.status()
    again = Lab.up(lab.directory)
    assert again == lab
    assert [each.pid for each in again.status()] == [each.pid for each in before]


def test_status_names_both_clusters_old_first(lab: Lab) -> None:
    old, new, *_ = lab.status()
    assert (old.name, old.running, old.bootstrap) == ("old", True, lab.old_bootstrap)
    assert (new.name, new.running, new.bootstrap) == ("new", True, lab.new_bootstrap)


def test_status_as_json_is_one_document_on_stdout(lab: Lab) -> None:
    ran = CliRunner().invoke(app, ["status", "--dir", str(lab.directory), "--json"])
    names = [service["name"] for service in json.loads(ran.stdout)["services"]]
    assert names[:2] == ["old", "new"]


def test_up_names_both_brokers_and_as_json_is_one_document(lab: Lab) -> None:
    plain, as_json = (call("lab", "up", "--dir", lab.directory, *more) for more in ((), ("--json",)))
    assert (plain.code, plain.out) == (0, f"old cluster  {lab.old_bootstrap}\nnew cluster  {lab.new_bootstrap}\n")
    assert [each["bootstrap"] for each in json.loads(as_json.out)["services"][:2]] == [
        lab.old_bootstrap,
        lab.new_bootstrap,
    ]
    assert as_json.err == ""


def test_sample_gives_the_migration_file_in_the_labs_folder(lab: Lab, sample: Path) -> None:
    assert sample == lab.directory / "migration.yaml"
    assert call("lab", "sample", "--dir", lab.directory) == Ran(0, f"{sample}\n", "")
    assert json.loads(call("lab", "sample", "--dir", lab.directory, "--json").out) == {"migration": str(sample)}


@pytest.mark.usefixtures("sample")
def test_the_sample_has_one_mirror_for_each_replication_policy(lab: Lab) -> None:
    mirrors = {each.name: each.topics for each in lab.status() if each.name in ("mirror-identity", "mirror-default")}
    assert mirrors == {
        "mirror-identity": ("orders", "payments", "profiles", "audit", "beats"),
        "mirror-default": ("clicks",),
    }


def test_the_brokers_listen_on_loopback_only(lab: Lab) -> None:
    for broker in ("old", "new"):
        properties = (lab.directory / broker / "server.properties").read_text(encoding="utf-8")
        (listeners,) = re.findall(r"^listeners=(.*)$", properties, flags=re.MULTILINE)
        assert all("://127.0.0.1:" in listener for listener in listeners.split(","))


def test_a_topic_that_does_not_exist_is_read_as_nothing(lab: Lab) -> None:
    assert list(read_to_end("nowhere", bootstrap=lab.old_bootstrap)) == []
