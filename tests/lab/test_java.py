from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise.errors import JavaError
from offsetwise.lab import Lab
from offsetwise.lab.java import find_java, major_version
from tests.with_cases import with_cases


def _fake_java(folder: Path, script: str) -> Path:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)
    return java


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("only_here")
def test_without_java_nothing_is_started_and_the_install_line_is_given(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"17 or newer, found none on the PATH") as caught:
        Lab.up(tmp_path / "lab")
    assert "apt-get install openjdk-17" in caught.value.fix
    assert Lab.at(tmp_path / "lab").status() == ()


def test_an_old_java_is_named_with_its_version_and_place(only_here: Path) -> None:
    java = _fake_java(only_here, """echo 'openjdk version "11.0.22" 2024-01-16' >&2""")
    with pytest.raises(JavaError, match=r"found Java 11 at") as caught:
        find_java()
    assert str(java) in caught.value.problem


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match="JAVA_HOME") as caught:
        find_java()
    assert str(tmp_path) in caught.value.problem


def test_a_command_that_is_no_java_is_quoted(only_here: Path) -> None:
    _fake_java(only_here, "echo 'No Java runtime present, requesting install.'; exit 1")
    with pytest.raises(JavaError, match="No Java runtime present"):
        find_java()


def test_a_java_that_cannot_be_run_is_an_error_of_ours(only_here: Path) -> None:
    (only_here / "java").write_bytes(b"\x00\x01")
    (only_here / "java").chmod(0o755)
    with pytest.raises(JavaError, match="does not run"):
        find_java()


@with_cases(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ("command not found", None),
    ],
)
def test_the_major_version_is_read_from_what_java_prints(text: str, major: int | None) -> None:
    assert major_version(text) == major
