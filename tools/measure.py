"""Measures the structure of the code, from the repository's root.

    python tools/measure.py [--json] [--hold NAME ...] [--write-sizes]

Rooms are the packages and modules right below `lib/offsetwise/`; each folder of `lib/offsetwise/plugins/` is one, which
the core does not import: only `builtin`, which registers them, does. `--hold` exits with 1 if one of the named figures
misses its aim. Only `ports`, and the root's own table, may name modules in strings. The words of a private dialect are
counted among the names that the code chooses. Duplicates are functions of four statements or more that differ only in
the names that they bind. A room may grow by 3 % over its size in `tools/room_sizes.json`; `--write-sizes` writes the
current sizes, for a change that needs more and says why. New rooms have no limit.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

LIB: Final = Path("lib")
AIMS: Final = {
    "rooms_in_circles": 0,
    "mutual_pairs": 0,
    "core_to_plugin_imports": 0,
    "modules_named_in_strings": 0,
    "dialect_per_1000_locals": 5,
    "docstrings_give_say_tell": 0,
    "functions_over_40_lines": 40,
    "longest_function": 60,
    "class_names_used_twice": 15,
    "duplicates": 0,
    "rooms_grown": 0,
    "docstrings_of_one_line": 1_200,
    "core_statements": 18_000,
    "statements": 36_000,
}
# fmt: off
DIALECT: Final = frozenset({
    "against", "asked", "back", "barred", "behind", "beside", "called", "came", "each", "eyes", "found",
    "gone", "held", "irrevocable", "kept", "learnt", "left", "look", "looks", "made", "moving", "one",
    "place", "places", "seen", "settling", "staged", "standing", "stands", "taken", "telling", "told",
    "unheard", "unknown", "wanted", "whose",
})
# fmt: on
SIZES: Final = Path("tools/room_sizes.json")
GROWTH: Final = 0.03
SLACK: Final = 10
"""Statements by which a small room may grow."""
OPENINGS: Final = frozenset({"Give", "Gives", "Say", "Says", "Tell", "Tells", "Told"})
SHORT: Final = 3
"""Statements up to which functions may be alike."""
LONG: Final = 40
"""Lines of a function above which it counts as long."""
_DOTTED: Final = re.compile(r"(offsetwise(?:\.\w+)+)(?::\w+)?")
_DOCUMENTED: Final = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Counts:
    edges: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    to_plugin: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    functions: list[tuple[int, str]] = field(default_factory=list)
    bodies: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    classes: Counter[str] = field(default_factory=Counter)
    statements: Counter[str] = field(default_factory=Counter)
    docstrings: int = 0
    of_one_line: int = 0
    openings: Counter[str] = field(default_factory=Counter)
    names: int = 0
    dialect: Counter[str] = field(default_factory=Counter)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--hold", nargs="*", choices=AIMS, default=[], help="figures whose aims have to be met")
    parser.add_argument(
        "--write-sizes", action="store_true", help="write the sizes of the rooms, which may grow by 3 %"
    )
    arguments = parser.parse_args()
    figures = measure()
    if arguments.write_sizes:
        SIZES.write_text(json.dumps(figures["sizes"], indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if arguments.json:
        print(json.dumps(figures, indent=1))
    else:
        for name, value in figures.items():
            print(f"{name:28} {value}")
    missed = [name for name in arguments.hold if figures[name] > AIMS[name]]
    for name in missed:
        print(f"{name}: {figures[name]}, more than {AIMS[name]}", file=sys.stderr)
    return 1 if missed else 0


def measure() -> dict[str, Any]:
    """Return the figures by name; those with an aim are numbers."""
    paths = sorted((LIB / "offsetwise").rglob("*.py"))
    names = {path: ".".join(path.relative_to(LIB).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    counts = Counts()
    for path in paths:
        count(counts, path, names[path], frozenset(names.values()))
    graph = dict(counts.edges)
    rings = circles(graph)
    pairs = sorted((a, b) for a, imports in graph.items() for b in imports if a < b and a in graph.get(b, ()))
    in_core = {room: n for room, n in counts.statements.items() if room not in ("console", "lab")}
    plugins = {room: n for room, n in sorted(counts.statements.items()) if room.startswith("plugins")}
    twins = [functions for functions in counts.bodies.values() if len(functions) > 1]
    known = json.loads(SIZES.read_text(encoding="utf-8"))
    grown = [
        f"{room}: {size} statements, {known[room]} before"
        for room, size in sorted(counts.statements.items())
        if room in known and size > known[room] + max(SLACK, known[room] * GROWTH)
    ]
    return {
        "modules": len(paths),
        "statements": counts.statements.total(),
        "core_statements": sum(n for room, n in in_core.items() if room not in plugins),
        "plugin_statements": plugins,
        "rooms_in_circles": sum(map(len, rings)),
        "mutual_pairs": len(pairs),
        "core_to_plugin_imports": len(counts.to_plugin),
        "modules_named_in_strings": len(counts.strings),
        "dialect_per_1000_locals": round(1_000 * counts.dialect.total() / max(counts.names, 1), 1),
        "dialect_worst": counts.dialect.most_common(12),
        "docstrings": counts.docstrings,
        "docstrings_of_one_line": counts.of_one_line,
        "docstrings_give_say_tell": sum(counts.openings[word] for word in OPENINGS),
        "functions_over_40_lines": sum(lines > LONG for lines, _ in counts.functions),
        "longest_function": max(counts.functions)[0],
        "longest": sorted(counts.functions)[-5:],
        "rooms_grown": len(grown),
        "grown": grown,
        "sizes": dict(counts.statements),
        "class_names_used_twice": sum(n > 1 for n in counts.classes.values()),
        "duplicates": len(twins),
        "twins": twins,
        "circles": rings,
        "pairs": pairs,
        "strings": counts.strings[:30],
        "to_plugin": counts.to_plugin[:30],
    }


def count(counts: Counts, path: Path, name: str, modules: frozenset[str]) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = room_of(name)
    for node in ast.walk(tree):
        for other in imported(node, name, modules, is_package=path.name == "__init__.py"):
            if other.partition(".")[0] == "offsetwise" and (there := room_of(other)) != here:
                counts.edges[here].add(there)
                if there.startswith("plugins/") and not here.startswith(("plugins", "builtin")):
                    counts.to_plugin.append(f"{path}:{getattr(node, 'lineno', 0)}")
        if told := _named_in_string(node, here, modules):
            counts.strings.append(f"{path}:{getattr(node, 'lineno', 0)} {told}")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            counts.functions.append((lines, f"{path}:{node.lineno} {node.name}"))
            if body := unnamed(node):
                counts.bodies[body].append(f"{path}:{node.lineno} {node.name}")
        if isinstance(node, ast.ClassDef):
            counts.classes[node.name] += 1
        if isinstance(node, ast.stmt) and not _is_text(node):
            counts.statements[here] += 1
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            counts.docstrings += 1
            counts.of_one_line += "\n" not in text
            counts.openings[text.split()[0].rstrip(",.:")] += 1
    for chosen in (*names_chosen(tree), path.parent.name if path.name == "__init__.py" else path.stem):
        counts.names += 1
        if chosen.strip("_") in DIALECT:
            counts.dialect[chosen] += 1


def room_of(module: str) -> str:
    """Return the room of a module.

    >>> room_of("offsetwise.plan.draft"), room_of("offsetwise.plugins.spark.edit"), room_of("offsetwise")
    ('plan', 'plugins/spark', '__init__')
    """
    parts = module.split(".")
    if parts[:2] == ["offsetwise", "plugins"] and len(parts) > 2:
        return f"plugins/{parts[2]}"
    return parts[1] if len(parts) > 1 else "__init__"


def imported(node: ast.AST, module: str, modules: frozenset[str], *, is_package: bool) -> list[str]:
    """Return the full names of the modules that a statement imports from."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        parts = module.split(".") if is_package else module.split(".")[:-1]
        above = parts[: len(parts) - (node.level - 1)]
        base = ".".join([*above, base] if base else above)
    full = [f"{base}.{alias.name}" for alias in node.names]
    return [name if name in modules else base for name in full]


def names_chosen(tree: ast.Module) -> Iterator[str]:
    """Yield the names that the code chooses: variables, arguments, attributes that it sets, functions, classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name.lower()


def unnamed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a function's body with numbers for the names that it binds; "" for a short one."""
    body = [node for node in function.body if not _is_text(node)]
    if sum(isinstance(node, ast.stmt) for part in body for node in ast.walk(part)) <= SHORT:
        return ""
    numbers: dict[str, int] = {}
    for part in (function.args, *body):
        for node in ast.walk(part):
            if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
                numbers.setdefault(node.arg if isinstance(node, ast.arg) else node.id, len(numbers))
    text = "\n".join(ast.dump(part) for part in body)
    return re.sub(r"(?<=Name\(id=')\w+(?=')", lambda match: str(numbers.get(match[0], match[0])), text)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the rooms that import each other in circles, one list for each strongly connected component."""
    reached = {room: _reachable(graph, room) for room in graph}
    rings = {frozenset(other for other in seen if room in reached.get(other, ())) for room, seen in reached.items()}
    return sorted(sorted(ring) for ring in rings if len(ring) > 1)


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for room in graph.get(waiting.pop(), set()) - seen:
            seen.add(room)
            waiting.append(room)
    return seen


def _named_in_string(node: ast.AST, room: str, modules: frozenset[str]) -> str:
    """Return the module that a string names, or the call that imports one by its name; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and room not in ("ports", "__init__"):
        match = _DOTTED.fullmatch(node.value)
        if match and (match[1] in modules or match[1].rpartition(".")[0] in modules - {"offsetwise"}):
            return node.value
    if isinstance(node, ast.Call) and room != "ports":
        function = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if function in ("import_module", "__import__"):
            return ast.unparse(node)[:60]
    return ""


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


if __name__ == "__main__":
    sys.exit(main())
