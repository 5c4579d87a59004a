"""Errors as a message on stderr, as a document on stdout if JSON is requested, and as an exit code."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Final

import typer

from offsetwise.cli.output import safe, stderr
from offsetwise.errors import OffsetwiseError, UsageError, exit_code

DEBUG: Final = "OFFSETWISE_DEBUG"
EXTRAS: Final = {
    **dict.fromkeys(("grpc", "pandas", "pyarrow", "pyspark"), "spark"),
    **dict.fromkeys(("alembic", "prometheus_client", "sqlalchemy"), "store"),
    **dict.fromkeys(("plotly", "streamlit"), "console"),
    "psycopg": "postgres",
}
"""The extra that installs a package, for commands that need it."""
_PACKAGE: Final = Path(__file__).parents[1]


def report(error: OffsetwiseError, *, as_json: bool) -> int:
    tell(type(error).__name__, error.problem, error.fix, as_json=as_json)
    return exit_code(error)


def report_usage(error: Exception, *, as_json: bool) -> int:
    problem = str(getattr(error, "format_message", lambda: error)()).strip()
    context = getattr(error, "ctx", None)
    if not problem:
        return 1  # no command was named, and the help has been shown
    command = context.command_path if context is not None else "offsetwise"
    return report(
        UsageError(f"{command}: {problem.rstrip('.')}. Nothing was done.", fix=f"See: {command} --help"),
        as_json=as_json,
    )


def unexpected(error: Exception) -> OffsetwiseError:
    """Return an error with the exception's type and origin, without its text, which may contain secrets.

    For a missing package of an extra, which is not a defect, it names the extra.
    """
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing in EXTRAS:
        return OffsetwiseError(
            f"This command: expected the package {missing!r}, found that it is not installed. Nothing was done.",
            fix=f"Install it: pip install 'offsetwise[{EXTRAS[missing]}]'.",
        )
    raised = traceback.extract_tb(error.__traceback__)
    frames = [summary for summary in raised if _PACKAGE in Path(summary.filename).parents]
    raised_at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return OffsetwiseError(
        f"Expected to finish, but {type(error).__name__} was raised{raised_at}. This is a defect of Offsetwise; "
        "whatever was printed before may be incomplete.",
        fix=f"Report it with this message; with {DEBUG}=1 in the environment the traceback is shown.",
    )


def tell(name: str, problem: str, fix: str, *, as_json: bool, **more: str) -> None:
    """Print one error by the name of its kind; `more` is added to its JSON document."""
    if as_json:
        from offsetwise.files import FORMAT_VERSION

        header = {"format": "offsetwise/error", "format_version": FORMAT_VERSION}
        body = header | {"error": name, "problem": problem, "fix": fix} | more
        typer.echo(json.dumps(body, ensure_ascii=False, sort_keys=True))
    about = f"{safe(more['job'])}: " if "job" in more else ""
    stderr().print(f"[bold red]error[/] {about}{safe(problem)}\n[bold]next[/]  {safe(fix)}", soft_wrap=True)
