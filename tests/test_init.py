"""`offsetwise init` on the command line: what it asks for, refuses, writes and never writes."""

from __future__ import annotations

import json
import os
import pty
import shutil
import socketserver
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

import offsetwise
from offsetwise.cli import documents
from offsetwise.config import load_migration, schema_text
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import FileError
from offsetwise.survey import jobs
from tests.commands import COMMAND, Ran, call
from tests.stores import Store
from tests.survey.recorded import LIB
from tests.with_cases import with_cases

NOBODY, NOBODY_ELSE = "127.0.0.1:1", "127.0.0.1:2"
SECRET = "hunter2-\u00e4"


class HangsUp(socketserver.BaseRequestHandler):
    """Ends every connection at once, which is known for a refusal sooner than silence."""


@pytest.fixture(scope="module")
def refusing() -> Iterator[tuple[str, str]]:
    """Two addresses that refuse at once."""
    with ExitStack() as open_:
        servers = [open_.enter_context(socketserver.ThreadingTCPServer(("127.0.0.1", 0), HangsUp)) for _ in range(2)]
        for server in servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            open_.callback(server.shutdown)
        old, new = (f"127.0.0.1:{server.server_address[1]}" for server in servers)
        yield old, new


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(LIB / "sample" / "checkpoints", tmp_path / "checkpoints")
    monkeypatch.chdir(tmp_path)


def init(*more: str | Path, old: str, new: str, roots: tuple[str, ...] = ("checkpoints",)) -> Ran:
    named = [part for root in roots for part in ("--checkpoints", root)]
    return call("init", "--old", old, "--new", new, *named, "--out", "m.yaml", *more)


def surveyed(ran: Ran) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ran.out)
    jsonschema.validate(body, documents.schema("survey"))
    return body


@with_cases("missing", ["--old", "--new", "--checkpoints", "--out"])
def test_without_a_terminal_what_is_missing_is_named(missing: str) -> None:
    given = {"--old": NOBODY, "--new": NOBODY_ELSE, "--checkpoints": "checkpoints", "--out": "m.yaml"}
    del given[missing]

    told = call("init", *(part for pair in given.items() for part in pair), "--json").refused()

    assert told["error"] == "UsageError"
    assert told["problem"].startswith(f"init: expected {missing}, found none")
    assert not Path("m.yaml").exists()


def at_a_terminal(*arguments: str, answers: Sequence[str]) -> tuple[str, str]:
    """Run the command with answers typed at a terminal; give what it printed and what it said."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asking:
        os.close(slave)
        os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
        out, err = asking.communicate(timeout=120)
    os.close(master)
    return out, err


def test_at_a_terminal_it_asks(tmp_path: Path, refusing: tuple[str, str]) -> None:
    old, new = refusing
    out, err = at_a_terminal("init", answers=("mine.yaml", old, new, "checkpoints"))

    for question in ("The migration file to write", "The old cluster", "The new cluster", "A folder that holds"):
        assert question in err
    assert "checkpoints  2: orders, payments" in out
    assert load_migration(tmp_path / "mine.yaml").source.properties == {"bootstrap.servers": old}


def test_a_file_that_exists_is_left_alone() -> None:
    Path("m.yaml").write_text("mine", encoding="utf-8")

    told = init("--json", old=NOBODY, new=NOBODY_ELSE).refused()

    assert told["problem"].endswith("found something of that name. Nothing was read or written.")
    assert "--update" in told["fix"]
    assert Path("m.yaml").read_text(encoding="utf-8") == "mine"


@with_cases(
    ("old", "new", "problem"),
    [
        ("nonsense", NOBODY, "--old: expected HOST:PORT or the path of a client's property file, found 'nonsense'"),
        (NOBODY, NOBODY, f"--old and --new: expected two clusters, found {NOBODY} in the bootstrap.servers of both"),
        ("empty.properties", NOBODY, "--old: expected bootstrap.servers, found none"),
        ("wrong.properties", NOBODY, "--old.sasl.mechanism: expected one of plain, scram"),
        ("checkpoints", NOBODY, "--old checkpoints: expected a client's property file, but Is a directory"),
    ],
)
def test_what_no_client_could_use_is_refused_before_anything_is_contacted(old: str, new: str, problem: str) -> None:
    Path("empty.properties").write_text("client.id=x\n", encoding="utf-8")
    Path("wrong.properties").write_text(f"bootstrap.servers={NOBODY}\nsasl.mechanism=GSSAPI\n", encoding="utf-8")

    assert init("--json", old=old, new=new).refused()["problem"].startswith(problem)
    assert not Path("m.yaml").exists()


@with_cases("as_json", [True, False])
def test_clusters_that_do_not_answer_are_said_and_no_secret_is_told(as_json: bool) -> None:
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ada" password="{SECRET}";'
    Path("old.properties").write_text(
        f"bootstrap.servers={NOBODY}\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n"
        f"ssl.truststore.password={SECRET}\nssl.truststore.location=/t.jks\n",
        encoding="utf-8",
    )
    Path("new.conf").write_text(
        f"bootstrap.servers={NOBODY_ELSE}\nsecurity.protocol=sasl_plaintext\nsasl.mechanisms=OAUTHBEARER\n"
        "sasl.oauthbearer.method=oidc\nsasl.oauthbearer.client.id=me\nsasl.oauthbearer.token.endpoint.url=https://id\n"
        f"sasl.oauthbearer.client.secret={SECRET}\n",
        encoding="utf-8",
    )

    ran = init(*(["--json"] if as_json else []), old="old.properties", new="new.conf")

    assert ran.code == 1, "a script must not take it for whole"
    variables = ["NEW_SASL_OAUTHBEARER_CLIENT_SECRET", "OLD_SASL_PASSWORD"]
    if as_json:
        body = surveyed(ran)
        assert body["variables"] == variables
        assert (body["written"], body["link"]["link"], len(body["checkpoints"])) == (True, None, 2)
        assert [each["problem"].partition(":")[0] for each in body["problems"]] == [
            "Cluster 'old' at 127.0.0.1",
            "Cluster 'new' at 127.0.0.1",
        ]
    for variable in variables:
        assert variable in ran.out
    written = Path("m.yaml").read_text(encoding="utf-8")
    assert not any(SECRET in text for text in (ran.out, ran.err, written))
    assert "sasl.password: ${OLD_SASL_PASSWORD}  # set this variable in the environment" in written
    assert "# left out: ssl.truststore.location: " in written
    assert load_migration(Path("m.yaml")).checkpoint("orders").job.stateful is True
    assert stat.S_IMODE(Path("m.yaml").stat().st_mode) == 0o600
    given = {"checkpoints", "new.conf", "old.properties"}
    assert {path.name for path in Path().iterdir()} == given | {"m.yaml", "m.schema.json"}


def test_json_of_it_waits_for_no_library_that_it_does_not_need(refusing: tuple[str, str]) -> None:
    code = "import sys; sys.argv = sys.argv[1:]; from offsetwise.cli import main\ntry: main()\nfinally: "
    code += "print([name for name in ('numpy', 'cryptography', 'offsetwise.apply') if name in sys.modules])"
    named = ("--old", refusing[0], "--new", refusing[1], "--checkpoints", "checkpoints", "--out", "m.yaml")
    command = [sys.executable, "-c", code, "offsetwise", "init", *named, "--json"]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_root_without_checkpoints_and_one_that_is_not_there_are_said(refusing: tuple[str, str]) -> None:
    Path("none").mkdir()

    ran = init("--json", old=refusing[0], new=refusing[1], roots=("none", "nowhere", "checkpoints"))

    problems = [each["problem"] for each in surveyed(ran)["problems"]]
    assert [each for each in problems if each.startswith("none: expected checkpoints in it, found none")]
    assert [each for each in problems if "nowhere" in each]
    assert len(load_migration(Path("m.yaml")).checkpoints) == 2


@with_cases("out", ["nowhere/m.yaml", "a-file/m.yaml"])
def test_a_folder_that_is_not_there_is_refused_before_anything_is_read(out: str) -> None:
    Path("a-file").touch()

    told = call("init", "--old", NOBODY, "--new", NOBODY_ELSE, "--checkpoints", "x", "--out", out, "--json").refused()

    assert told["error"] == "FileError"
    assert "there is no folder" in told["problem"]
    assert "in a folder that does" in told["fix"]


def test_a_root_given_twice_or_inside_another_is_read_once(refusing: tuple[str, str]) -> None:
    here = Path().absolute()
    roots = ("checkpoints", f"{here}/checkpoints/", f"{here}/checkpoints/orders", f"file://{here}/checkpoints")

    body = surveyed(init("--json", old=refusing[0], new=refusing[1], roots=roots))

    assert [each["name"] for each in body["checkpoints"]] == ["orders", "payments"]
    assert body["roots"] == ["checkpoints", f"{here}/checkpoints/orders"]
    assert [each.name for each in load_migration(Path("m.yaml")).checkpoints] == ["orders", "payments"]


def test_a_root_in_an_object_store_is_searched_as_a_folder_is(refusing: tuple[str, str], s3: Store) -> None:
    folder = Path("checkpoints")
    root = s3.put("jobs", {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()})
    here = surveyed(init("--json", old=refusing[0], new=refusing[1]))
    Path("m.yaml").unlink()

    there = surveyed(init("--json", old=refusing[0], new=refusing[1], roots=(root,)))

    found = [{**each, "uri": each["uri"].replace(root, "checkpoints")} for each in there["checkpoints"]]
    assert found == here["checkpoints"]
    assert [each.uri for each in load_migration(Path("m.yaml")).checkpoints] == [
        each["uri"] for each in there["checkpoints"]
    ]


def test_an_update_shows_the_difference_and_writes_only_when_told(refusing: tuple[str, str]) -> None:
    init(old=refusing[0], new=refusing[1])
    mine = Path("m.yaml")
    mine.write_text(mine.read_text(encoding="utf-8") + "\n# mine\n", encoding="utf-8")
    mine.chmod(0o640)
    shutil.copytree("checkpoints/payments", "checkpoints/refunds")
    before = mine.read_bytes()

    shown = call("init", "--update", "--out", "m.yaml")
    assert "+  - name: refunds\n" in shown.out
    assert "was not changed: --yes writes what is shown." in " ".join(shown.err.split())
    assert mine.read_bytes() == before

    _, err = at_a_terminal("init", "--update", "--out", "m.yaml", answers=("n",))
    assert "Write this to m.yaml?" in err
    assert mine.read_bytes() == before

    body = surveyed(call("init", "--update", "--out", "m.yaml", "--yes", "--json"))
    assert (body["written"], "+  - name: refunds\n" in body["diff"]) == (True, True)
    assert mine.read_text(encoding="utf-8").endswith("\n# mine\n")
    assert [each.name for each in load_migration(mine).checkpoints] == ["orders", "payments", "refunds"]
    assert stat.S_IMODE(mine.stat().st_mode) == 0o640

    again = call("init", "--update", "--out", "m.yaml", "--yes")
    assert "it has all that was found" in " ".join(again.err.split())


def test_an_update_needs_a_file_and_a_whole_one() -> None:
    assert "--update" in call("init", "--update", "--out", "m.yaml", "--json").refused()["fix"]

    Path("m.yaml").write_text("name: x\n", encoding="utf-8")
    assert call("init", "--update", "--out", "m.yaml", "--json").refused()["error"] == "ConfigError"


def test_a_file_that_changes_while_it_is_updated_is_left_alone(refusing: tuple[str, str]) -> None:
    init(old=refusing[0], new=refusing[1])
    mine = Path("m.yaml")
    shutil.copytree("checkpoints/payments", "checkpoints/refunds")

    def changed(_diff: str) -> bool:
        mine.write_text(mine.read_text(encoding="utf-8") + "# somebody\n", encoding="utf-8")
        return True

    with pytest.raises(offsetwise.FileError, match="somebody has changed it since"):
        offsetwise.init(mine, update=True, confirm=changed)
    assert mine.read_text(encoding="utf-8").endswith("# somebody\n")
    assert "refunds" not in mine.read_text(encoding="utf-8")


def test_each_checkpoint_is_opened_once(refusing: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(uri: str, **more: Any) -> Any:
        opened.append(uri)
        return read_checkpoint(uri, **more)

    monkeypatch.setattr(jobs, "read_checkpoint", counted)
    for number in range(60):
        shutil.copytree("checkpoints/payments", f"checkpoints/more/{number}")

    init(old=refusing[0], new=refusing[1])

    assert len(opened) == len(set(opened)) == 62


@with_cases("name", ["m.yaml", "a b.yaml", "ü#.yml", "bare", "two.parts.yaml"])
def test_editors_complete_the_file_by_the_schema_beside_it(name: str, refusing: tuple[str, str]) -> None:
    old, new = refusing
    stem = name.rsplit(".", 1)[0]
    schema = Path(f"{stem}.schema.json")

    survey = surveyed(init_to(name, old=old, new=new))

    assert survey["schema_file"] == str(schema.absolute())
    assert schema.read_text() == call("schema", "migration").out
    first = Path(name).read_text().partition("\n")[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert unquote(first.partition("=")[2]) == schema.name
    load_migration(Path(name))


def init_to(name: str, *, old: str, new: str) -> Ran:
    return call("init", "--old", old, "--new", new, "--checkpoints", "checkpoints", "--out", name, "--json")


def as_it_is(path: Path) -> tuple[int, ...]:
    now = os.lstat(path)
    return now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns


def test_another_file_of_that_name_is_not_written_over(refusing: tuple[str, str]) -> None:
    old, new = refusing
    others: list[Callable[[Path], object]] = [
        lambda path: path.write_text("{}"),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.write_text(schema_text() + " "),
    ]
    for number, other in enumerate(others):
        schema = Path(f"m{number}.schema.json")
        other(schema)
        before = as_it_is(schema)

        survey = surveyed(init_to(f"m{number}.yaml", old=old, new=new))

        assert (survey["written"], survey["schema_file"]) == (True, None), number
        assert "yaml-language-server" not in Path(f"m{number}.yaml").read_text()
        assert as_it_is(schema) == before

    Path("again.schema.json").write_text(schema_text())
    assert surveyed(init_to("again.yaml", old=old, new=new))["schema_file"] == str(Path("again.schema.json").absolute())


def test_no_schema_is_left_where_the_file_could_not_be_written(
    refusing: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise FileError("m.yaml: expected to write a new file, but the disk is full. Nothing was written.", fix="")

    monkeypatch.setattr("offsetwise.new_files.publish", full)
    with pytest.raises(FileError, match="the disk is full"):
        offsetwise.init("m.yaml", old=refusing[0], new=refusing[1], checkpoints=["checkpoints"])

    assert not [path for path in Path().iterdir() if path.name != "checkpoints"]
