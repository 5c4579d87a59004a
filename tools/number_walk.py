"""Follow one number of the bundled sample from its checkpoint to Compare, the command line and the written file.

    .venv/bin/python tools/number_walk.py [ROOT] [--functions] [--json] [--write]

Counts the functions, modules and types of a checkout (this one, or ROOT) that carry position 1050 of orders-0, or the
new position 950: as an integer or in a text, in what a function returns or has when it returns, at any depth. Imports
of modules are not counted, and neither are comprehensions, which are functions of their own in Python 3.11 and mostly
not in later versions.

--functions prints the functions of each module, --json prints everything as one object, and --write puts the counts
into docs/architecture.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import textwrap
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

CARRIED: Final = re.compile(r"(?<![\d.])(1,?050|950)(?![\d.,]\d)")
DEEPEST: Final = 7
WIDEST: Final = 400
"""Maximum number of parts of a value that are searched."""
PAGE: Final = Path("docs/architecture.md")
COMPREHENSIONS: Final = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
_SENTENCES: Final = re.compile(r"`\.venv/bin/python tools/number_walk\.py` follows it .*?(?=\n\n)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What carried the number."""

    functions: dict[str, list[str]]
    """By module."""
    types: list[str]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules with a function that carried it, as paths below the package."""
        return tuple(self.functions)

    @property
    def function_count(self) -> int:
        return sum(map(len, self.functions.values()))

    def sentences(self) -> str:
        """Return the paragraph of the page on the architecture."""
        screens = sum(name.startswith("console/") for name in self.modules)
        return textwrap.fill(
            "`.venv/bin/python tools/number_walk.py` follows it through Compare, `compare`, `draft` and `export` and "
            f"counts what holds the number, however deep: {self.function_count} functions, {len(self.modules)} modules "
            f"({screens} of the console) and {len(self.types)} types. `--functions` lists them, and `--write` writes "
            "this paragraph, which a test compares with what it counts.",
            width=120,
            break_on_hyphens=False,
        )


class Walk:
    """Records what carried the number."""

    def __init__(self, package: Path) -> None:
        self._below = f"{package}{os.sep}"
        self.functions: set[tuple[str, str]] = set()
        self.types: set[str] = set()

    def __call__(self, frame: FrameType, event: str, given: Any) -> None:
        """Search the values that a function of the package returns or has at its return; called by `sys.setprofile`."""
        code = frame.f_code
        if event != "return" or not code.co_filename.startswith(self._below) or code.co_name == "<module>":
            return
        if sum(self._carries(value, 0) for value in (given, *frame.f_locals.values())):
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    def _carries(self, value: Any, depth: int) -> bool:
        if isinstance(value, bool):
            return False
        if isinstance(value, int):
            return value in (1050, 950)
        if isinstance(value, (str, bytes)):
            text = value[:20_000]
            return CARRIED.search(text if isinstance(text, str) else text.decode("latin-1")) is not None
        if depth == DEEPEST:
            return False
        found = sum(self._carries(part, depth + 1) for part in _parts(value)) > 0  # all: types are counted
        if found and type(value).__module__.startswith("offsetwise"):
            self.types.add(f"{type(value).__module__}.{type(value).__qualname__}")
        return found


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [part for pair in list(value.items())[:WIDEST] for part in pair]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)[:WIDEST]
    if type(value).__module__.startswith("offsetwise"):
        names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        held = [getattr(value, name) for name in names if isinstance(name, str) and hasattr(value, name)]
        return [*held, *getattr(value, "__dict__", {}).values()]
    return ()


def on_screen(root: Path) -> None:
    """Draw the Compare page of the bundled sample."""
    from streamlit.testing.v1 import AppTest  # noqa: PLC0415 - after the checkout is on the path

    page = AppTest.from_file(str(root / "app.py"), default_timeout=300)
    page.query_params["of"] = "checkpoint orders"
    page.run()
    page.switch_page("pages/explore/compare.py").run()
    if page.exception:
        raise RuntimeError(page.exception)


def on_command_line(*arguments: str) -> None:
    """Run a command in this process without its output."""
    from offsetwise import cli  # noqa: PLC0415 - after the checkout is on the path

    sys.argv = ["offsetwise", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            cli.main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{sys.argv}: exit code {ended.code}: {out.getvalue()}") from ended


def on_commands(sample: Path, checkpoint: str, folder: Path) -> None:
    """Compare a checkpoint of the bundled sample, draft a plan for it and export the plan."""
    plan = str(folder / f"{checkpoint}.json")
    chosen = ("--migration", str(sample / "migration.yaml"), "--checkpoint", checkpoint)
    snapshots = ("--snapshots", str(sample / "old.json"), str(sample / "new.json"))
    proven = ("--comparison", str(sample / f"comparison-{checkpoint}.json"))
    drafted = ("--target", "starting-offsets", "--sink-rewound", "--author", "ada")
    on_command_line("compare", *chosen, *snapshots, "--no-content")
    on_command_line("draft", *chosen, *snapshots, *proven, *drafted, "--out", plan)
    on_command_line("export", plan, "--as", "starting-offsets")


def walk(package: Path, steps: Iterable[Callable[[], None]]) -> Walk:
    """Follow the number through steps, in every thread."""
    seen = Walk(package)
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        for step in steps:
            step()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


def counted(root: Path) -> Counts:
    """Return what carries the number in a checkout. The process cannot be used for anything else afterwards."""
    sys.path[:0] = [str(root), str(root / "lib")]
    os.chdir(root)
    package = root / "lib" / "offsetwise"
    sample = package / "sample"
    with tempfile.TemporaryDirectory() as folder:
        on_commands(sample, "payments", Path(folder))  # imports all modules, and builds the schemas of the files
        seen = walk(package, (lambda: on_screen(root), lambda: on_commands(sample, "orders", Path(folder))))
    functions = defaultdict[str, list[str]](list)
    for path, name in sorted(seen.functions):
        if not name.endswith(COMPREHENSIONS):
            functions[Path(path).relative_to(package).as_posix()].append(name)
    return Counts(functions=dict(functions), types=sorted(seen.types))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent)
    for option in ("--functions", "--json", "--write"):
        parser.add_argument(option, action="store_true")
    options = parser.parse_args()
    root = options.root.resolve()
    counts = counted(root)
    if options.write:
        page = root / PAGE
        text = page.read_text()
        page.write_text(_SENTENCES.sub(lambda _: counts.sentences(), text))
    if options.json:
        print(json.dumps(asdict(counts)))
        return
    print(f"{counts.function_count} functions, {len(counts.modules)} modules, {len(counts.types)} types")
    if options.functions:
        for module, names in counts.functions.items():
            print(f"{module}: {len(names)}: {', '.join(names)}")
    else:
        print(f"modules: {', '.join(counts.modules)}")
    print(f"types: {', '.join(counts.types)}")


if __name__ == "__main__":
    main()
