"""`offsetwise keygen` and `offsetwise sign`: files, words and exit codes; 4 where nobody approved."""

from __future__ import annotations

import base64
import json
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from offsetwise import files
from offsetwise.approval import policy_for, read_approval
from offsetwise.config import ApprovalSettings
from offsetwise.errors import (
    EXIT_CODES,
    NotApprovedError,
    OffsetwiseError,
    PlanError,
    StalePlanError,
    VerifyError,
    exit_code,
)
from tests.approval.signed import FILE, PLAN, judged
from tests.commands import Ran, call, run
from tests.with_cases import with_cases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.json").write_bytes(FILE)
    return tmp_path


def keygen(folder: Path, name: str = "rita", *more: str) -> Ran:
    return call("keygen", "--out", folder / name, "--as", name, *more)


def sign(folder: Path, name: str = "rita", *more: str, key: str | None = None) -> Ran:
    out = folder / f"{name}.approval.json"
    return call("sign", folder / "plan.json", "--key", folder / (key or name), "--as", name, "--out", out, *more)


def told(ran: Ran) -> dict[str, str]:
    error: dict[str, str] = json.loads(ran.out)
    assert "Traceback" not in ran.err
    return error


def test_what_is_signed_is_approved_for_whoever_trusts_the_key(folder: Path) -> None:
    assert keygen(folder).code == 0
    assert stat.S_IMODE((folder / "rita").stat().st_mode) == 0o600
    ran = sign(folder)
    assert (ran.code, ran.out) == (0, "")
    assert "approved by rita" in " ".join(ran.err.split())

    policy = policy_for(ApprovalSettings(), [folder / "rita.pub"])
    (approver,) = judged(read_approval(folder / "rita.approval.json"), policy=policy, now=datetime.now(UTC))
    assert approver.subject == "rita"


def test_a_rejection_is_signed_as_one(folder: Path) -> None:
    keygen(folder)
    assert sign(folder, "rita", "--reject").code == 0

    with pytest.raises(NotApprovedError, match=r"rita .* rejected it"):
        judged(
            read_approval(folder / "rita.approval.json"),
            policy=policy_for(ApprovalSettings(), [folder / "rita.pub"]),
            now=datetime.now(UTC),
        )


def test_with_json_stdout_holds_the_public_key_and_the_approval(folder: Path) -> None:
    made = keygen(folder, "rita", "--json")
    assert made.out == (folder / "rita.pub").read_text(encoding="utf-8")
    signed = sign(folder, "rita", "--json")
    assert signed.out == (folder / "rita.approval.json").read_text(encoding="utf-8")


@with_cases("more", [(), ("--reject",)], ids=["approved", "rejected"])
def test_what_is_printed_keeps_to_the_schemas_that_are_published(folder: Path, more: tuple[str, ...]) -> None:
    made = json.loads(keygen(folder, "rita", "--json").out)
    console = call("keygen", "--out", folder / "console", "--as", "our console", "--console", "--json")
    envelope = json.loads(sign(folder, "rita", "--json", *more).out)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    documents = {
        "public-key": [made, json.loads(console.out)],
        "approval-envelope": [envelope],
        "approval": [statement],
    }

    for kind, bodies in documents.items():
        schema = json.loads(call("schema", kind).out)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert set(schema["required"]) <= set(bodies[0])
        for body in bodies:
            jsonschema.validate(body, schema)
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(
                    {name: value for name, value in body.items() if name != schema["required"][0]}, schema
                )


def test_the_private_key_is_printed_nowhere(folder: Path) -> None:
    ran = [keygen(folder, "rita", "--json"), sign(folder, "rita", "--json")]
    secret = json.loads((folder / "rita").read_text(encoding="utf-8"))["private"].splitlines()[1]
    (folder / "rita").write_text((folder / "rita").read_text(encoding="utf-8")[:-30], encoding="utf-8")
    ran.append(sign(folder, "rita", "--json"))
    ran.append(
        run(
            *("sign", folder / "plan.json", "--key", folder / "rita", "--as", "rita", "--out", folder / "x"),
            OFFSETWISE_DEBUG="1",
        )
    )

    assert ran[-1].code == 1
    assert not [one for one in ran if secret[-30:] in one.out + one.err]
    assert secret[-30:] not in (folder / "rita.pub").read_text() + (folder / "rita.approval.json").read_text()


@with_cases("verdict", [(), ("--reject",)], ids=["approve", "reject"])
@with_cases("name", ["alice", "Alice", "eve@example.org"])
def test_the_author_and_editors_end_with_4_and_nothing_is_signed(
    folder: Path, name: str, verdict: tuple[str, ...]
) -> None:
    keygen(folder, name)

    ran = sign(folder, name, "--json", *verdict)

    assert ran.code == 4
    assert told(ran)["error"] == "NotApprovedError"
    assert "Nothing was signed" in told(ran)["problem"]
    assert not (folder / f"{name}.approval.json").exists()


def test_a_plan_without_an_author_ends_with_4(folder: Path) -> None:
    (folder / "plan.json").write_text(files.dump(replace(PLAN, author="")), encoding="utf-8")
    keygen(folder)

    assert sign(folder).code == 4


def test_nobody_signs_for_somebody_else(folder: Path) -> None:
    keygen(folder)

    ran = sign(folder, "ralph", "--json", key="rita")

    assert ran.refused()["error"] == "UsageError"
    assert "nobody signs for somebody else" in ran.refused()["problem"]
    assert not (folder / "ralph.approval.json").exists()


def test_nothing_is_ever_written_over(folder: Path) -> None:
    keygen(folder)
    sign(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    assert "something of that name exists" in keygen(folder, "rita", "--json").refused()["problem"]
    assert "something of that name exists" in sign(folder, "rita", "--json").refused()["problem"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_cannot_be_read_is_not_signed(folder: Path) -> None:
    keygen(folder)
    (folder / "plan.json").write_bytes(FILE.replace(b'"format_version": "1.0"', b'"format_version": "2.0"'))
    assert sign(folder, "rita", "--json").refused()["error"] == "VersionError"
    (folder / "plan.json").unlink()
    assert "No such file" in sign(folder, "rita", "--json").refused()["problem"]
    assert "No such file" in sign(folder, "rita", "--json", key="none").refused()["problem"]
    assert not (folder / "rita.approval.json").exists()


@with_cases("arguments", [["--expires-in-hours", "0"], ["--expires-in-hours", "9000"]], ids=str)
def test_a_lifetime_that_cannot_be_is_refused(folder: Path, arguments: list[str]) -> None:
    keygen(folder)

    assert sign(folder, "rita", "--json", *arguments).refused()["error"] == "UsageError"


def test_a_name_that_cannot_be_shown_makes_no_key(folder: Path) -> None:
    ran = call("keygen", "--out", folder / "x", "--as", "ri\x1b[31mta", "--json")

    assert ran.refused()["error"] == "UsageError"
    assert [path.name for path in folder.iterdir()] == ["plan.json"]


@with_cases(
    ("error", "code"),
    [(NotApprovedError, 4), (StalePlanError, 3), (PlanError, 1), (VerifyError, 1), (OffsetwiseError, 1)],
)
def test_an_error_has_its_exit_code(error: type[OffsetwiseError], code: int) -> None:
    assert exit_code(error("Problem.", fix="Fix.")) == code
    assert code in EXIT_CODES


def test_a_consoles_key_is_made_by_name_and_signs_nothing_here(folder: Path) -> None:
    made = call("keygen", "--out", folder / "console", "--as", "our console", "--console", "--json")
    assert made.code == 0
    assert json.loads(made.out)["issuer"] == "offsetwise:console"
    assert "expected the key of a person" in " ".join(sign(folder, "our console", key="console").err.split())
    assert keygen(folder, "other", "--issuer", "https://login.example.org", "--console").code == 1
