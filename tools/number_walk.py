"""Follow one number of the bundled sample from its checkpoint to Compare, the command line and the written file.

    .venv/bin/python tools/number_walk.py [ROOT]

Counts the functions, modules and types of a checkout (this one, or ROOT) that carry position 1050 of orders-0, or
950 in its place: as an integer or in a text, in what a function returns or has when it returns, however deep inside.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

CARRIED: Final = re.compile(r"(?<![\d.])(1,?050|950)(?![\d.,]\d)")
DEEPEST: Final = 7
WIDEST: Final = 400
"""Of a longer value, the first so many parts are looked at."""


class Walk:
    """What carried the number."""

    def __init__(self, package: Path) -> None:
        self._below = f"{package}{os.sep}"
        self.functions: set[tuple[str, str]] = set()
        self.types: set[str] = set()

    def __call__(self, frame: FrameType, event: str, given: Any) -> None:
        """Look at what a function of the package leaves behind; as `sys.setprofile` calls it."""
        if event != "return" or not frame.f_code.co_filename.startswith(self._below):
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
        found = sum(self._carries(part, depth + 1) for part in _parts(value)) > 0  # all of them: types are counted
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
    """Draw the Compare page over the bundled sample."""
    from streamlit.testing.v1 import AppTest  # noqa: PLC0415 - after the checkout is on the path

    page = AppTest.from_file(str(root / "app.py"), default_timeout=300)
    page.query_params["of"] = "checkpoint orders"
    page.run()
    page.switch_page("pages/explore/compare.py").run()
    if page.exception:
        raise RuntimeError(page.exception)


def on_command_line(*arguments: str) -> None:
    """Call the command in this process; what it prints is left out."""
    from offsetwise import cli  # noqa: PLC0415 - after the checkout is on the path

    sys.argv = ["offsetwise", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            cli.main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{sys.argv}: exit code {ended.code}: {out.getvalue()}") from ended


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


def main(root: Path) -> None:
    """Print the counts, and what was counted."""
    sys.path[:0] = [str(root), str(root / "lib")]
    os.chdir(root)
    package = root / "lib" / "offsetwise"
    sample = package / "sample"
    with tempfile.TemporaryDirectory() as folder:
        plan = f"{folder}/plan.json"
        chosen = ("--migration", str(sample / "migration.yaml"), "--checkpoint", "orders")
        snapshots = ("--snapshots", str(sample / "old.json"), str(sample / "new.json"))
        proven = ("--comparison", str(sample / "comparison-orders.json"))
        drafted = ("--target", "starting-offsets", "--sink-rewound", "--author", "ada")
        seen = walk(
            package,
            (
                lambda: on_screen(root),
                lambda: on_command_line("compare", *chosen, *snapshots, "--no-content"),
                lambda: on_command_line("draft", *chosen, *snapshots, *proven, *drafted, "--out", plan),
                lambda: on_command_line("export", plan, "--as", "starting-offsets"),
            ),
        )
    modules = {Path(path).relative_to(package).as_posix() for path, _ in seen.functions}
    screens = sum(name.startswith("console/") for name in modules)
    print(
        f"{len(seen.functions)} functions, {len(modules)} modules ({screens} of the console), {len(seen.types)} types"
    )
    for title, names in (("modules", modules), ("types", seen.types)):
        print(f"{title}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve())
