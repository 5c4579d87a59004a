"""The command line, called in this process or run as installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from offsetwise import cli, files

COMMAND = str(Path(sys.executable).with_name("offsetwise"))


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str

    def refused(self) -> dict[str, str]:
        """Return the one error of a command called with --json, held against what every error promises."""
        assert self.code == 1
        assert "Traceback" not in self.err
        error: dict[str, str] = json.loads(self.out)
        assert (error["format"], error["format_version"]) == ("offsetwise/error", "1.0")
        assert " ".join(self.err.split()) == " ".join(f"error {error['problem']} next {error['fix']}".split()), (
            "a person is told the same"
        )
        return error

    def answered(self) -> dict[str, Any]:
        """Return the one document of a command called with --json, held against its schema."""
        assert self.code == 0, self.err
        body: dict[str, Any] = json.loads(self.out)
        _schema(body["format"].removeprefix("offsetwise/")).validate(body)
        return body


@cache
def _schema(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(files.schema(kind))


def call(*arguments: str | Path, width: int = 80) -> Ran:
    """Call the command line in this process."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["offsetwise", *map(str, arguments)])
        patched.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def run(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> Ran:
    """Run the installed command in a process of its own."""
    ran = subprocess.run(
        [COMMAND, *map(str, arguments)],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)
