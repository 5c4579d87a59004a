"""Keys: what is changed or cut off is refused in words, and the private part is shown nowhere."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import stat
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey

from offsetwise.approval import PrivateKey, keygen, read_private_key, read_public_key, write_keys
from offsetwise.approval.keys import read_private, read_public
from offsetwise.errors import FileError, NotApprovedError, OffsetwiseError, UsageError
from tests.approval.signed import FILE, RITA, said
from tests.with_cases import with_cases


def secrets_of(key: PrivateKey) -> list[str]:
    """Return what must be seen nowhere: the private part in every way that it could be written."""
    pem = json.loads(key.secret_file())["private"]
    body = pem.splitlines()[1]
    raw = key._signer._private_key.private_bytes_raw()  # type: ignore[union-attr]
    return [body, body[-20:], raw.hex(), repr(raw)[2:-1]]


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    body = json.loads(path.read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(body), encoding="utf-8")


@pytest.fixture
def reviewer(tmp_path: Path) -> Path:
    write_keys(tmp_path / "reviewer", RITA)
    return tmp_path / "reviewer"


class TestKeygen:
    def test_makes_a_key_that_vouches_for_itself_unless_somebody_else_does(self) -> None:
        own, vouched = keygen(subject="rita").public, keygen(subject="rita", issuer="https://login.example.org").public

        assert own.issuer == f"key:{own.id}"
        assert vouched.issuer == "https://login.example.org"
        assert own.id != vouched.id

    def test_gives_the_key_id_that_in_toto_gives(self) -> None:
        key = RITA.public

        assert (
            SSlibKey(key.id, "ed25519", "ed25519", {"public": key.public})
            == CryptoSigner(RITA._signer._private_key).public_key
        )

    @with_cases("subject", ["", " rita", "ri\nta", "rita\u202e", "x" * 201, "\x1b[31mrita", "\ud800"])
    def test_refuses_a_name_that_cannot_be_shown(self, subject: str) -> None:
        with pytest.raises(UsageError, match=r"No key was made\.") as caught:
            keygen(subject=subject)
        assert caught.value.problem.isprintable()

    @with_cases("issuer", ["key:abc", "offsetwise:demo"])
    def test_refuses_an_issuer_that_means_something_else(self, issuer: str) -> None:
        with pytest.raises(UsageError, match="reserved"):
            keygen(subject="rita", issuer=issuer)


class TestKeyFiles:
    def test_are_read_back_as_they_were_written(self, reviewer: Path) -> None:
        assert read_public_key(reviewer.with_name("reviewer.pub")) == RITA.public
        read = read_private_key(reviewer)
        assert read.public == RITA.public
        assert read.sign(b"x") == RITA.sign(b"x")

    def test_the_private_one_is_its_owners_alone_whatever_the_umask(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            write_keys(tmp_path / "open", RITA)
        finally:
            os.umask(before)

        assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "open.pub").stat().st_mode) == 0o644

    @with_cases("there", ["reviewer", "reviewer.pub"])
    @with_cases("make", ["file", "link", "folder"])
    def test_are_never_written_over(self, tmp_path: Path, there: str, make: str) -> None:
        path = tmp_path / there
        match make:
            case "file":
                path.write_text("mine", encoding="utf-8")
            case "link":
                path.symlink_to(tmp_path / "elsewhere")
            case _:
                path.mkdir()

        with pytest.raises(FileError, match=r"something of that name exists\. Nothing was written"):
            write_keys(tmp_path / "reviewer", RITA)

        assert os.listdir(tmp_path) == [there]
        assert make != "file" or path.read_text() == "mine"

    def test_are_both_taken_away_again_when_the_disk_is_full(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for fails_at in range(2):
            calls: Iterator[int] = iter(range(9))

            def full(_: int, calls: Iterator[int] = calls, fails_at: int = fails_at) -> None:
                if next(calls) == fails_at:
                    raise OSError(28, "No space left on device")

            monkeypatch.setattr(os, "fsync", full)
            with pytest.raises(FileError, match=r"No space left on device\. Nothing was written\."):
                write_keys(tmp_path / "reviewer", RITA)
            assert os.listdir(tmp_path) == []

    def test_in_a_folder_that_is_not_there_are_not_written(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="No such file"):
            write_keys(tmp_path / "none" / "reviewer", RITA)

    @with_cases("mode", [0o640, 0o604, 0o660, 0o610])
    def test_the_private_one_is_refused_when_others_may_read_it(self, reviewer: Path, mode: int) -> None:
        reviewer.chmod(mode)

        with pytest.raises(FileError, match=f"mode {mode:04o}. Nothing was signed") as caught:
            read_private_key(reviewer)
        assert "chmod 600" in caught.value.fix

    def test_that_are_pipes_or_folders_are_refused_without_waiting(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe", 0o600)
        for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
            with pytest.raises(FileError, match="Nothing was signed"):
                read_private_key(path)
            with pytest.raises(NotApprovedError, match="Nothing was written"):
                read_public_key(path)


PUBLIC: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "cut off": (lambda body: body.update(public=body["public"][:-2]), "public is wrong"),
    "another key inside": (lambda body: body.update(public="11" * 32), "it was changed"),
    "no point of the curve": (lambda body: body.update(public="ff" * 32), "it was changed"),
    "another id": (lambda body: body.update(key="0" * 64), "it was changed"),
    "upper case": (lambda body: body.update(public=body["public"].upper() + ""), "public is wrong"),
    "another scheme": (lambda body: body.update(scheme="rsassa-pss-sha256"), "scheme is wrong"),
    "a newer version": (lambda body: body.update(format_version="1.1"), "format_version is wrong"),
    "a private key": (lambda body: body.update(format="offsetwise/private-key"), "format is wrong"),
    "no subject": (lambda body: body.pop("subject"), "subject is wrong"),
    "a subject that cannot be shown": (lambda body: body.update(subject="ri\nta"), "subject is wrong"),
    "another key as issuer": (lambda body: body.update(issuer="key:" + "0" * 64), "another key than itself"),
    "a key that is not known": (lambda body: body.update(roles=["admin"]), "roles is wrong"),
}


@with_cases("why", PUBLIC)
def test_a_public_key_is_refused_in_words(reviewer: Path, why: str) -> None:
    change, told = PUBLIC[why]
    path = reviewer.with_name("reviewer.pub")
    changed(path, change)

    with pytest.raises(NotApprovedError, match=told) as caught:
        read_public_key(path)

    assert str(path) in caught.value.problem
    assert caught.value.problem.endswith("Nothing was written.")
    assert "keygen" in caught.value.fix


@with_cases(
    "change", [{"public": ""}, {"public": "ab"}, {"public": "zz" * 32}, {"id": ""}, {"issuer": "key:"}], ids=str
)
def test_a_key_that_is_put_together_by_hand_is_held_against_its_id(change: dict[str, str]) -> None:
    with pytest.raises(NotApprovedError, match=r"Nothing was written\."):
        replace(RITA.public, **change)


PRIVATE: dict[str, Callable[[dict[str, Any]], object]] = {
    "cut off": lambda body: body.update(private=body["private"][:60]),
    "another private part": lambda body: body.update(private=json.loads(keygen(subject="x").secret_file())["private"]),
    "another public part": lambda body: body.update(public=keygen(subject="x").public.public),
    "a blank more": lambda body: body.update(private=body["private"] + " "),
    "not ASCII": lambda body: body.update(private="ä"),
    "a number": lambda body: body.update(private=7),
    "a repeated key": lambda body: body.update({body["private"]: body["private"]}),
    "of another algorithm": lambda body: body.update(
        private=CryptoSigner.generate_ecdsa().private_bytes.decode("ascii")
    ),
    "no key at all": lambda body: body.clear(),
}


@with_cases("why", PRIVATE)
def test_a_private_key_that_was_changed_is_refused_without_showing_any_of_it(
    reviewer: Path, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = secrets_of(RITA)
    changed(reviewer, PRIVATE[why])

    with caplog.at_level(logging.DEBUG), pytest.raises(FileError, match="Nothing was signed") as caught:
        read_private_key(reviewer)

    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert not [each for each in secret if each in shown]
    assert caught.value.__cause__ is None


def test_the_private_part_is_in_no_text_log_error_or_copy_of_a_key(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        shown = [repr(RITA), str(RITA), f"{RITA}", f"{[RITA]} {vars(type(RITA))}", repr(said().content), repr(FILE)]
        shown.append(RITA.public.dump() + repr(RITA.public))
        for out in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
            with pytest.raises(TypeError) as caught:
                out(RITA)
            shown.append("".join(traceback.format_exception(caught.value)))
        for plan, lifetime in ((b"{}", timedelta(days=1)), (FILE, timedelta(0))):
            with pytest.raises(OffsetwiseError) as failed:
                said(plan=plan, expires_in=lifetime)
            shown.append("".join(traceback.format_exception(failed.value)))
    captured = capfd.readouterr()

    text = "".join([*shown, caplog.text, captured.out, captured.err])
    assert not [each for each in secrets_of(RITA) if each in text]


def test_every_single_bit_of_a_public_key_counts() -> None:
    content = RITA.public.dump().encode()
    for at in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[at // 8] ^= 1 << at % 8
        try:
            read = read_public(bytes(flipped), name="key")
        except NotApprovedError:
            continue
        # The name is still one, but another: nothing that Rita signs is taken for it.
        assert (read.id, read.public) == (RITA.public.id, RITA.public.public)
        assert (read.issuer, read.subject) != (RITA.public.issuer, RITA.public.subject)


def test_every_single_bit_of_a_private_key_counts() -> None:
    content = RITA.secret_file().encode()
    for at in range(len(content) * 8):
        flipped = bytearray(content)
        flipped[at // 8] ^= 1 << at % 8
        try:
            read = read_private(bytes(flipped), name="key")
        except FileError:
            continue
        assert read.public.id == RITA.public.id
        assert (read.public.issuer, read.public.subject) != (RITA.public.issuer, RITA.public.subject)
