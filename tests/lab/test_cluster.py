"""A lab of these tests' own, which they stop, break and start again."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offsetwise.cli.lab import app
from offsetwise.errors import LabError
from offsetwise.lab import Lab, cluster
from offsetwise.lab.processes import Process, start
from tests.with_cases import with_cases


@pytest.fixture(scope="module")
def own_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that tests may stop."""
    with Lab.up(tmp_path_factory.mktemp("own")).no_longer_than_this_process() as running:
        yield running


def _listens(bootstrap: str) -> bool:
    host, _, port = bootstrap.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def test_status_of_a_folder_without_lab_says_how_to_start_one(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["status", "--dir", str(tmp_path)])
    assert "There is no lab" in ran.stdout
    assert "offsetwise lab up" in ran.stdout


@pytest.mark.gates
def test_down_ends_everything_and_up_goes_on_with_the_same_ports_and_data(own_lab: Lab) -> None:
    ports = own_lab.old_bootstrap, own_lab.new_bootstrap
    ran = CliRunner().invoke(app, ["down", "--dir", str(own_lab.directory)])
    assert ran.exit_code == 0
    assert not any(service.running for service in own_lab.status())
    assert not _listens(ports[0])
    with pytest.raises(LabError, match="'old' does not run") as caught:
        _ = own_lab.old_bootstrap
    assert "offsetwise lab up" in caught.value.fix

    again = Lab.up(own_lab.directory)
    assert (again.old_bootstrap, again.new_bootstrap) == ports
    assert all(service.running for service in again.status())


def test_a_broker_that_died_is_started_again_and_the_other_is_left_alone(own_lab: Lab) -> None:
    old, new = Lab.up(own_lab.directory).status()
    os.kill(old.pid, signal.SIGKILL)
    while own_lab.status()[0].running:
        time.sleep(0.02)
    revived, untouched = Lab.up(own_lab.directory).status()
    assert revived.pid != old.pid
    assert revived.running
    assert untouched.pid == new.pid


def test_the_broker_of_another_cluster_at_its_port_is_not_taken_for_it(own_lab: Lab) -> None:
    services = own_lab._state.read()

    assert own_lab._is_listening(services["old"])
    assert not own_lab._is_listening(replace(services["old"], port=services["new"].port))


def test_a_port_taken_by_others_is_named_and_nothing_is_started(own_lab: Lab) -> None:
    port = int(Lab.up(own_lab.directory).old_bootstrap.rpartition(":")[2])
    own_lab.down()
    with socket.create_server(("127.0.0.1", port)), pytest.raises(LabError, match=f"port {port}, and another process"):
        Lab.up(own_lab.directory)
    assert not any(service.running for service in own_lab.status())


def test_a_program_that_took_the_port_while_a_broker_started_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, others = Lab.at(tmp_path), []

    def started(command: list[str], *, log: Path) -> Process:
        if log == lab.log("old") and "kafka.Kafka" in command:
            text = (tmp_path / "old" / "server.properties").read_text(encoding="utf-8")
            (port,) = re.findall(r"listeners=PLAINTEXT://127.0.0.1:(\d+),", text)
            others.append(socket.create_server(("127.0.0.1", int(port))))
        return start(command, log=log)

    monkeypatch.setattr(cluster, "start", started)
    with pytest.raises(LabError, match="'old' did not start listening") as told:
        Lab.up(tmp_path)

    assert len(others) == 1
    others[0].close()
    assert "Address already in use" in str(told.value)
    assert not any(service.running for service in lab.status())


def test_a_broker_that_cannot_start_is_an_error_with_the_end_of_its_log(own_lab: Lab) -> None:
    own_lab.down()
    meta = own_lab.directory / "new" / "data" / "meta.properties"
    kept = meta.read_text()
    meta.write_text(kept.replace("node.id=1", "node.id=7"))
    try:
        with pytest.raises(LabError, match=r"broker 'new' did not start listening.*new\.log ends with: .*node"):
            Lab.up(own_lab.directory)
    finally:
        meta.write_text(kept)
    assert not any(service.running for service in own_lab.status())


def test_a_state_left_by_a_crashed_machine_is_recognised_and_no_stranger_is_stopped(tmp_path: Path) -> None:
    process = {"pid": os.getpid(), "started": "before the crash"}
    service = {"name": "old", "process": process, "port": 20001, "controller_port": 20002, "topics": []}
    state = {"format": "offsetwise/lab", "format_version": "1.0", "services": [service]}
    (tmp_path / "lab.json").write_text(json.dumps(state))
    lab = Lab.at(tmp_path)
    assert [each.running for each in lab.status()] == [False]
    lab.down()


@with_cases(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"format": "offsetwise/la', id="cut off"),
        pytest.param("[]", id="another shape"),
        pytest.param('{"format": "offsetwise/plan", "format_version": "1.0", "services": []}', id="another file"),
        pytest.param('{"format": "offsetwise/lab", "format_version": "2.0", "services": []}', id="newer version"),
        pytest.param('{"format": "offsetwise/lab", "format_version": "1.0", "services": [{"name": "old"}]}', id="hole"),
    ],
)
def test_a_state_file_that_cannot_be_read_is_an_error_that_starts_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "lab.json").write_text(text)
    for verb in (Lab.up, lambda folder: Lab.at(folder).down()):
        with pytest.raises(LabError, match=r"lab\.json: expected the state of a lab"):
            verb(tmp_path)


@pytest.mark.proof
def test_a_killed_owner_leaves_no_broker_behind(tmp_path: Path) -> None:
    hold = (
        "import sys, time; from offsetwise.lab import Lab\n"
        "with Lab.up(sys.argv[1]).no_longer_than_this_process():\n"
        "    print('up', flush=True); time.sleep(120)"
    )
    with subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == "up\n"
        lab = Lab.at(tmp_path)
        assert all(service.running for service in lab.status())
        owner.kill()
    end = time.monotonic() + 60
    while any(service.running for service in lab.status()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(service.running for service in lab.status())
