"""The screens of a review tell no secret: canaries in every slot that they come near, looked for in all they send."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from offsetwise.approval import keygen, write_keys
from offsetwise.console.operate import audit_rows
from offsetwise.console.server import access
from offsetwise.review.access import Access
from offsetwise.review.exports import ExportKind
from offsetwise.store.audit import AuditFilter
from tests.apply.canaries import canary, found, unpacked, written
from tests.apply.test_canaries import private_bytes
from tests.console.boards import ADA, BOTH, RITA, Stage, claims, here, sent
from tests.console.test_shell import SECRETS

__all__ = ["here"]

REVIEW, EXPORT, AUDIT = "pages/plan/review.py", "pages/plan/export.py", "pages/operate/audit.py"
INTAKES = {"bring-approval": "own.json", "bring-receipt": "own.json", "bring-bundle": "own.gz"}


def test_no_secret_is_in_a_page_an_export_the_audit_log_or_the_store(
    here: Stage, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG, "offsetwise")
    board = here.scene.board
    auth: dict[str, Any] = SECRETS["auth"] | {
        name: canary(name).replace('"', "") for name in ("client_secret", "cookie_secret")
    }
    tokens = {name: canary(name) for name in ("access_token", "id_token", "at_hash", "phone_number")}
    own = tmp_path / "own.key"
    write_keys(own, keygen(subject="rita"))
    console_key = Path(str(here.scene.access.decisions.key))
    wrong_file = tmp_path / "access.yaml"
    in_file = canary("file")
    wrong_file.write_text(f"[auth]\nclient_secret = '{in_file}'\nroles: [{in_file}\n", encoding="utf-8")
    secrets = [
        auth["client_secret"],
        auth["cookie_secret"],
        *tokens.values(),
        in_file,
        *private_bytes(own),
        *private_bytes(console_key),
    ]
    told: list[tuple[str, bytes]] = []

    def opened(page: str, somebody: Any) -> Any:
        made = here.open(page, somebody)
        made.user = {**claims(somebody), "tokens": tokens, **tokens}
        made.secrets = {"auth": auth}
        return kept(page, made.run())

    def kept(name: str, page: Any) -> Any:
        assert not page.exception
        told.append((name, sent(page)))
        return page

    saved = here.scene.submitted(BOTH)
    board.comment(RITA, saved.plan, "I looked at it.")
    here.scene.approve(BOTH, saved)
    page = opened(EXPORT, RITA)
    for key, name in INTAKES.items():
        # Handed over by mistake: the file that is told apart from its neighbour by nothing but ".pub".
        page.file_uploader(key=f"{key}-file").upload(name, own.read_bytes()).run()
        kept(key, page.button(key=key).click().run())
    page = opened(REVIEW, RITA)
    access.use(Access(), wrong_file)
    kept("with another access file", page.button(key=f"approve-{saved.plan}").click().run())
    console_key.chmod(0o644)
    kept("with an open key", opened(REVIEW, RITA).button(key=f"approve-{saved.plan}").click().run())
    console_key.chmod(0o600)
    bundle = board.bundle(RITA, saved.plan).content
    kept("approved", opened(REVIEW, RITA).button(key=f"approve-{saved.plan}").click().run())
    kept("the audit log", opened(AUDIT, ADA))

    log = audit_rows.json_lines(audit_rows.rows(board, ADA, AuditFilter()))
    assert log.count(b'\\"refused\\"') == 6, "every way above was taken"
    assert log.count(b'\\"approve\\"') == 4
    told += [("the log", log), ("the log as CSV", audit_rows.csv(audit_rows.rows(board, ADA, AuditFilter())))]
    told += [("the bundle", bundle), *unpacked("the bundle", bundle)]
    told += [
        (each.name, each.content)
        for kind in (ExportKind.PLAN, ExportKind.APPROVAL, ExportKind.GROUPS_CSV)
        for each in board.export(ADA, saved.plan, kind)
    ]
    told += [("the process", "".join(capfd.readouterr()).encode() + caplog.text.encode())]
    assert any(saved.digest[:8].encode() in content for name, content in told if name == REVIEW)
    own_files = (own, console_key, wrong_file)
    assert found(secrets, (*told, *written(tmp_path, but=own_files))) == []
