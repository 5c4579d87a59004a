"""Which tests run in one process when there are several: whole files, and all files that use the lab together."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent.parent
LAB_FIXTURES = ("lab", "sample", "scene", "moving")
"""Two processes would start two labs, which one machine carries, but not quickly."""


class FilesWithOneLab(LoadScopeScheduling):  # type: ignore[misc] # xdist carries no types
    """Gives a process whole files, so that what a file shares is made once, and all files that use the lab to one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "lab" if uses_lab(ROOT / file) else file


@cache
def uses_lab(path: Path) -> bool:
    """Tell whether a file asks for the lab, as an argument or by `usefixtures`."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    named = [each for call in calls if ast.unparse(call.func) == "pytest.mark.usefixtures" for each in call.args]
    asked = {node.arg for node in nodes if isinstance(node, ast.arg)}
    asked |= {str(each.value) for each in named if isinstance(each, ast.Constant)}
    of_its_own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return not (asked - of_its_own).isdisjoint(LAB_FIXTURES)
