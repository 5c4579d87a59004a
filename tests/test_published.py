"""What was published stays: commands with their options, codes of findings, and the addresses of pages.

`tests/data/published.json` has them as of commit 9184d4f and since. What a release adds is added to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from offsetwise import cli
from offsetwise.findings import findings
from offsetwise.plan import options
from tests.with_cases import with_cases

ROOT: Final = Path(__file__).parents[1]
PUBLISHED: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "published.json").read_text(encoding="utf-8")
)
PAGE: Final = re.compile(r'st\.Page\("(pages/[\w/]+\.py)".*?url_path="([\w-]+)"')


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command by its name, those of a group behind the group's."""
    root: Any = get_command(cli.app)
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        yield from [(f"{name} {below}", each) for below, each in inner.items()] if inner else [(name, command)]


@with_cases("name", PUBLISHED["commands"])
def test_a_command_keeps_its_options(name: str) -> None:
    parameters = dict(commands())[name].params
    accepted = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    if name == "draft":
        accepted |= {option for model in options.parameters().values() for option in model.options}

    assert set(PUBLISHED["commands"][name]) - accepted == set()


def test_a_code_of_a_finding_keeps_its_severity() -> None:
    """A code may be added; it is never removed, renamed or given another severity."""
    now = {code: str(kind.severity) for code, kind in findings().items()}

    assert now | PUBLISHED["findings"] == now


def test_a_page_keeps_its_address() -> None:
    now = dict(PAGE.findall((ROOT / "app.py").read_text(encoding="utf-8")))

    assert now | PUBLISHED["pages"] == now
