"""No secret is ever told: canaries in every slot, every command that writes, wherever it ends, and all it leaves."""

from __future__ import annotations

import base64
import json
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from offsetwise.api import live
from offsetwise.apply.run import Tools
from offsetwise.cli import errors
from offsetwise.client_properties import ALLOWED, Kind
from offsetwise.client_properties.allowed import is_secret
from offsetwise.errors import OffsetwiseError
from offsetwise.review.exports import ExportKind
from offsetwise.store.store import open_store
from tests.apply.canaries import canary, found, spellings, unpacked, written
from tests.apply.test_object_store import _context, _plan, _write
from tests.apply.worlds import Stage, stage
from tests.commands import Ran, call
from tests.gates import FULL
from tests.plugins.kafka.test_connection import listening
from tests.review.people import ADA, RITA, Scene, access_with_key
from tests.stores import S3
from tests.with_cases import with_cases

SASL = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "user"}
TLS = {"security.protocol": "ssl"}
OIDC = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:{port}/token",
}
BESIDE: dict[str, dict[str, str]] = {
    "sasl.password": SASL,
    "sasl.oauthbearer.client.secret": OIDC,
    "ssl.ca.pem": TLS,
    "ssl.certificate.pem": TLS,
    "ssl.key.password": TLS | {"ssl.key.location": "{folder}/other", "ssl.certificate.location": "{folder}/other"},
    "ssl.key.pem": TLS,
    "ssl.keystore.password": TLS | {"ssl.keystore.location": "{folder}/other"},
}
"""What each property that may hold a secret stands beside."""
WAYS = ("environment", "file")
COMMANDS = ("draft", "drift", "dry run", "apply", "rollback", "verify", "watch")
"""Those that contact a cluster."""


def hang_up(accepted: socket.socket) -> None:
    accepted.close()


@dataclass
class Desk:
    """A plan that was applied and one that was not, keys, and a migration file with secrets."""

    folder: Path
    staged: Stage
    port: int
    secrets: list[str | bytes]
    told: list[tuple[str, bytes]]

    @property
    def kept(self) -> Path:
        """Where secrets may stand."""
        return self.folder / "kept"

    def secret(self, slot: str, way: str, patched: pytest.MonkeyPatch, value: str | None = None) -> str:
        """Put a canary where a reference leads."""
        made = canary(slot) if value is None else value
        self.secrets.append(made)
        name = f"SECRET_{len(self.secrets)}"
        if way == "environment":
            patched.setenv(name, made)
            return f"${{{name}}}"
        (self.kept / name).write_text(made, encoding="utf-8")
        return f"file:{self.kept / name}"

    def migration(self, **sides: dict[str, str]) -> Path:
        """Write a migration file."""
        body: dict[str, Any] = {
            "name": "test",
            "checkpoints": [{"name": "c", "uri": str(self.staged.source)}],
            "checkpoint_roots": [str(self.folder)],
            "write_roots": [str(self.folder)],
            "groups": ["etl"],
        }
        for side, host in (("source", "127.0.0.1"), ("target", "localhost")):
            body[side] = {"properties": {"bootstrap.servers": f"{host}:{self.port}", **sides.get(side, {})}}
        path = self.folder / "m.yaml"
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
        return path

    def run(self, command: str, migration: Path) -> Ran:
        """Run one of the commands, and keep what it told."""
        given: dict[str, tuple[str | Path, ...]] = {
            "draft": (
                *("draft", "--checkpoint", "c", "--target", "spark-checkpoint", "--target", "consumer-group:etl"),
                *("--author", "ada", "--out", self.folder / "new.json"),
            ),
            "drift": ("drift", self.folder / "plan.json"),
            "dry run": (
                *("apply", self.folder / "plan.json", "--output", str(self.folder / "out" / "other")),
                *("--receipt", self.folder / "second.json"),
            ),
            "apply": (
                *("apply", self.folder / "plan.json", "--output", str(self.folder / "out" / "other")),
                *("--approval", self.folder / "rea.approval.json", "--trust", self.folder / "rea.pub", "--execute"),
                *("--receipt", self.folder / "second.json"),
            ),
            "rollback": (
                *("rollback", self.folder / "plan.receipt.json"),
                *("--trust", self.folder / "rea.pub", "--execute"),
            ),
            "verify": ("verify", self.folder / "plan.receipt.json"),
            "watch": ("watch", "--count", "1", "--every", "1", "--store", f"sqlite:///{self.folder / 'store.sqlite'}"),
        }
        return self.call(*given[command], "--migration", migration)

    def call(self, *arguments: str | Path) -> Ran:
        """Call the command line, and keep what it told."""
        ran = call(*arguments, "--json")
        self.told.append((f"{arguments[0]}'s stdout", ran.out.encode()))
        self.told.append((f"{arguments[0]}'s stderr", ran.err.encode()))
        return ran


@pytest.fixture
def desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Desk]:
    """Yield a desk; at its end no canary stands in anything that was told or written."""
    monkeypatch.setenv("OFFSETWISE_DEBUG", "1")
    monkeypatch.setenv("OFFSETWISE_STATE", str(tmp_path / "state"))
    caplog.set_level(logging.DEBUG)
    told: list[tuple[str, bytes]] = []
    tell = errors.report

    def telling(error: OffsetwiseError, *, as_json: bool) -> int:
        told.append(("a traceback", "".join(traceback.format_exception(error)).encode()))
        return tell(error, as_json=as_json)

    monkeypatch.setattr(errors, "report", telling)
    (tmp_path / "kept").mkdir()
    (tmp_path / "other").write_text("no key\n")
    with listening(hang_up) as port:
        made = Desk(tmp_path, stage(tmp_path), port, [], told)
        _apply_once(made)
        yield made
        told.append(("the log", caplog.text.encode()))
        out, err = capfd.readouterr()
        told.extend((("the process' stdout", out.encode()), ("the process' stderr", err.encode())))
        assert made.secrets
        kept = (made.kept, made.folder / "rea", made.folder / "m.yaml")
        assert found(made.secrets, (*told, *written(tmp_path, but=kept))) == []


def _apply_once(desk: Desk) -> None:
    """Make a key, sign the plan, and apply it to a cluster in memory."""
    (desk.folder / "plan.json").write_bytes(desk.staged.data)
    made = desk.call("keygen", "--out", desk.folder / "rea", "--as", "rea")
    assert made.code == 0, made.err
    desk.secrets.extend(private_bytes(desk.folder / "rea"))
    signed = ("--key", desk.folder / "rea", "--as", "rea", "--out", desk.folder / "rea.approval.json")
    assert desk.call("sign", desk.folder / "plan.json", *signed).code == 0

    def tools_for(*_: object) -> Tools:
        return replace(desk.staged.tools(), now=lambda: datetime.now(UTC))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(live, "tools_for", tools_for)
        ran = desk.call(
            *(
                "apply",
                desk.folder / "plan.json",
                "--migration",
                desk.migration(),
                "--output",
                desk.staged.output or "",
            ),
            *("--approval", desk.folder / "rea.approval.json", "--trust", desk.folder / "rea.pub", "--execute"),
        )
    assert ran.code == 0, ran.err


def private_bytes(path: Path) -> list[str | bytes]:
    """Return the secret of a private file: as its text has it, and the number itself."""
    text = json.loads(path.read_text(encoding="utf-8"))["private"]
    key = load_pem_private_key(text.encode(), password=None)
    return [text.splitlines()[1], key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())]


def test_every_property_that_may_hold_a_secret_is_tried() -> None:
    assert BESIDE.keys() == {name for name in ALLOWED if is_secret(name)}
    assert {name for name, known in ALLOWED.items() if known.kind in (Kind.SECRET, Kind.PEM)} <= BESIDE.keys()


def some_of(slot: str, way: str) -> tuple[str, ...]:
    """Return every command in the full gates; else two, so that all the slots together have every command."""
    if FULL:
        return COMMANDS
    at = 2 * list(BESIDE).index(slot) + WAYS.index(way)
    return COMMANDS[at % len(COMMANDS)], COMMANDS[(at + 3) % len(COMMANDS)]


@with_cases("way", WAYS)
@with_cases("slot", BESIDE)
def test_a_secret_of_a_cluster_is_told_nowhere(
    slot: str, way: str, desk: Desk, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None]
) -> None:
    beside = {
        name: value.replace("{port}", str(desk.port)).replace("{folder}", str(desk.folder))
        for name, value in BESIDE[slot].items()
    }
    sides = {side: {**beside, slot: desk.secret(f"{side}-{slot}", way, monkeypatch)} for side in ("source", "target")}
    migration = desk.migration(**sides)

    codes = [desk.run(command, migration).code for command in some_of(slot, way)]

    assert set(codes) == {1}, "no broker is there"
    figure(f"canaries, {slot} by {way}: {len(codes)} commands, 0 leaks")


@with_cases("name", sorted(ALLOWED.keys() - {"bootstrap.servers"}))
def test_a_secret_that_a_wrong_property_refers_to_is_told_nowhere(
    name: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = OIDC if name.startswith("sasl.") else {}
    around = TLS if name.startswith(("ssl.", "enable.ssl")) else around
    beside = {each: value.replace("{port}", str(desk.port)) for each, value in around.items()}
    sides = {"source": {**beside, name: desk.secret(name, "environment", monkeypatch)}}

    assert desk.run("drift", desk.migration(**sides)).code == 1


def test_a_secret_written_out_is_refused_and_not_repeated(desk: Desk) -> None:
    for slot, beside in BESIDE.items():
        if ALLOWED[slot].kind is Kind.SECRET:
            desk.secrets.append(made := canary(slot))
            ran = desk.run("drift", desk.migration(source={**beside, slot: made}))
            assert ran.refused()["error"] == "ConfigError"


def test_the_password_of_a_store_is_told_nowhere(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = desk.secret("store", "environment", monkeypatch)
    written_out = canary("written").replace("/", "").replace('"', "").replace("\\", "")
    desk.secrets.append(written_out)
    migration = desk.migration()
    for url in (reference, written_out):
        told = f"postgresql+psycopg://me:{url}@127.0.0.1:{desk.port}/db"
        assert desk.call("watch", "--count", "1", "--migration", migration, "--store", told).code == 1


@with_cases("out", ["gone/x", "n" * 300, "rea"], ids=["no folder", "too long", "taken"])
def test_a_key_that_cannot_be_written_or_read_is_told_nowhere(out: str, desk: Desk) -> None:
    assert desk.call("keygen", "--out", desk.folder / out, "--as", "x").code == 1
    key = desk.folder / "rea"
    for content in (key.read_text()[:-30], key.read_text().replace("PRIVATE", "PUBLIC"), key.read_text() * 2):
        broken = desk.kept / "broken"
        broken.write_text(content)
        broken.chmod(0o600)
        again = ("--key", broken, "--as", "rea", "--out", desk.folder / "second.approval.json")
        assert desk.call("sign", desk.folder / "plan.json", *again).code == 1
        trusting = ("--migration", desk.migration(), "--execute", "--trust", broken, "--approval", broken)
        assert desk.call("apply", desk.folder / "plan.json", *trusting).code == 4


def test_the_key_of_a_console_is_in_no_store_export_or_audit_log(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        scene = Scene(store.reviews, access_with_key(tmp_path))
        key = Path(str(scene.access.decisions.key))
        secrets = private_bytes(key)
        saved = scene.submitted()
        scene.board.comment(RITA, saved.plan, "I looked at it.")
        exports = [
            each
            for kind in (ExportKind.PLAN, ExportKind.GROUPS_CSV)
            for each in scene.board.export(RITA, saved.plan, kind)
        ]
        sheet = scene.board.sheet(RITA, saved.plan)
        assert sheet is not None
        bundle = scene.board.bundle(RITA, saved.plan).content
        answer = scene.approve(RITA, saved, typed=sheet.facts.confirm)
        exports += scene.board.export(RITA, saved.plan, ExportKind.APPROVAL)
        assert len(exports) == 3, answer
        told = [(each.name, each.content) for each in exports]
        told += [("the bundle", bundle), *unpacked("the bundle", bundle)]
        told += [("the log", repr(row).encode()) for row in scene.board.audit(ADA)]
        told += [("the board", repr((scene.access, sheet, answer)).encode())]
    assert found(secrets, (*told, *written(tmp_path, but=(key,)))) == []


def test_the_credentials_of_a_bucket_are_told_nowhere(
    s3: S3,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The libraries below keep silent unless a program that embeds them turns their logs on; then botocore tells."""
    caplog.set_level(logging.DEBUG)
    for library in ("botocore", "aiobotocore", "werkzeug"):
        caplog.set_level(logging.INFO, library)
    secrets = {name: canary(name).replace("é", "") for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")}
    plan, _ = _plan(s3)
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    told = [("the step", repr(_write(plan, tmp_path)).encode()), ("the context", repr(_context(plan)).encode())]
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with listening(hang_up) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        with pytest.raises(OffsetwiseError) as caught:
            _write(plan, tmp_path, name="second.journal")
    told.append(("a traceback", "".join(traceback.format_exception(caught.value)).encode()))
    told.append(("the log", caplog.text.encode()))
    told.append(("the process", "".join(capfd.readouterr()).encode()))
    assert found(secrets.values(), (*told, *written(tmp_path))) == []


def test_a_canary_is_found_however_it_is_spelled(tmp_path: Path) -> None:
    secret = canary("x")
    for lead in range(4):
        packed = base64.b64encode(b"y" * lead + secret.encode() + b"zz")
        assert found([secret], [("here", packed)]) == ["here"]
    for one in spellings(secret):
        (tmp_path / "file").write_bytes(b"before" + one + b"after")
        assert found([secret], written(tmp_path))
    assert found([secret], [("here", canary("x").encode())]) == []
