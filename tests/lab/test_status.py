"""The session's lab, looked at."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from offsetwise.lab import Lab
from offsetwise.lab.commands import app
from offsetwise.lab.progress import read_to_end


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


def test_a_topic_that_does_not_exist_is_read_as_nothing(lab: Lab) -> None:
    assert list(read_to_end("nowhere", bootstrap=lab.old_bootstrap)) == []
