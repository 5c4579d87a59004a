"""The command line: the same functions as the console. Data goes to stdout, messages to stderr.

A command imports what it needs when it is called, so that `offsetwise inspect` starts without Spark, pandas, Streamlit
and the store's libraries.
"""

from __future__ import annotations

import os
import sys
import traceback
from functools import cache
from io import TextIOWrapper
from typing import Any, Final, cast

import typer

from offsetwise.cli import (
    apply,
    approvals,
    compare,
    cutover,
    errors,
    formats,
    init,
    lab,
    plans,
    services,
    sinks,
    status,
    targets,
)
from offsetwise.cli.output import say
from offsetwise.errors import EXIT_CODES, OffsetwiseError

EPILOG: Final = f"""
Exit codes: {"; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())}.
Results go to stdout, progress and errors to stderr. With --json, stdout holds only JSON, errors included.
"""
INTERRUPTED: Final = 130
"""Typer's exit code for Ctrl-C. The product's own is 1."""
USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__mro__[2])
"""The base class of all usage errors. Some releases of typer import click, others contain a copy of it."""
COMMANDS: Final = (
    *(init.init, compare.inspect, compare.fleet, compare.snapshot, compare.compare, compare.reconcile),
    *(sinks.transactions, services.watch, cutover.cutover, status.status, services.audit, formats.schema),
    *(services.console, targets.targets, plans.draft, plans.drift, formats.diff, plans.export),
    *(approvals.keygen, approvals.sign),
    *(apply.apply, apply.verify, apply.rollback),
)
"""In the order of the help."""

app = typer.Typer(
    name="offsetwise",
    help="Where must each partition resume on the new Kafka cluster, and how do we know?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(lab.app, name="lab")
for command in COMMANDS:
    app.command(epilog=EPILOG, cls=plans.DraftCommand if command is plans.draft else None)(command)


def main() -> None:
    """Run the command line, and turn every error into a message and an exit code."""
    as_json = "--json" in sys.argv[1:]
    _take_any_name(as_json=as_json)
    try:
        code = _parser()(standalone_mode=False)
    except OffsetwiseError as error:
        code = errors.report(error, as_json=as_json)
    except USAGE_ERROR as error:
        code = errors.report_usage(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a person gets a message, whatever happened
        if os.environ.get(errors.DEBUG):
            traceback.print_exc()
        code = errors.report(errors.unexpected(error), as_json=as_json)
    if code == INTERRUPTED:
        say("Stopped before the end.")
        code = 1
    raise SystemExit(code or 0)


@cache
def _parser() -> Any:
    """Build the parser of all commands, once: that takes as long as many a command."""
    return typer.main.get_command(app)


def _take_any_name(*, as_json: bool) -> None:
    """Allow names with any character in the output: the product's JSON is UTF-8, a terminal may have any encoding."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A lone surrogate comes from a file name in another encoding; escaped, it is still JSON.
        sys.stdout.reconfigure(encoding="utf-8" if as_json else None, errors="backslashreplace")
