"""Canary secrets: made to be found again in any spelling, and looked for in everything that was written."""

from __future__ import annotations

import base64
import gzip
import sqlite3
import uuid
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote, quote_plus


def canary(slot: str) -> str:
    """Make a secret that stands nowhere else, with characters that every quoting changes."""
    return f'ca~nary/{slot}+"{uuid.uuid4().hex}\\&=é'


def spellings(secret: str | bytes) -> frozenset[bytes]:
    """Return a secret as it is, quoted for URLs, JSON and Java, in hex and in Base64 wherever it begins there."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    made = {raw, raw.hex().encode()}
    for lead in range(3):
        # The characters at both ends depend on what stands around.
        inner = base64.b64encode(b"x" * lead + raw)[4 if lead else 0 :].rstrip(b"=")[:-1]
        made |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    if isinstance(secret, str):
        made |= {quote(secret).encode(), quote(secret, safe="").encode(), quote_plus(secret).encode()}
        made |= {secret.replace("\\", "\\\\").replace('"', '\\"').encode(), ascii(secret)[1:-1].encode()}
        made |= {one.encode() for one in secret.split('"') if len(one) > 20}
    return frozenset(made)


def found(secrets: Iterable[str | bytes], told: Iterable[tuple[str, bytes]]) -> list[str]:
    """Name where any of the secrets stands, however it is spelled."""
    needles = [needle for secret in secrets for needle in spellings(secret)]
    return [name for name, content in told if any(needle in content for needle in needles)]


def written(folder: Path, *, but: Collection[Path] = ()) -> Iterator[tuple[str, bytes]]:
    """Yield every file below a folder, unpacked where it is packed, and every cell of a store.

    Args:
        folder: Where to look.
        but: The files and folders that secrets are kept in.
    """
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or any(path == one or one in path.parents for one in but):
            continue
        content = path.read_bytes()
        yield str(path), str(path).encode() + content
        yield from unpacked(str(path), content)
        if content.startswith(b"SQLite format 3"):
            yield from _cells(path)


def unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what is inside of something packed."""
    for unpack in (zlib.decompress, gzip.decompress):
        with suppress(zlib.error, OSError, EOFError):
            yield f"{name}, unpacked", unpack(content)


def _cells(path: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(path)) as opened:
        for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in opened.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    content = cell if isinstance(cell, bytes) else str(cell).encode()
                    yield f"{path}, {table}", content
                    yield from unpacked(f"{path}, {table}", content)
