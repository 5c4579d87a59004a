"""Writes lib/offsetwise/confusables.tsv, the table of UTS #39 that `offsetwise.lookalikes` reads, to standard output.

    cargo init --name tables --vcs none /tmp/tables && cd /tmp/tables
    cargo add unicode-security@0.1.3 && cargo vendor
    python tools/confusables.py /tmp/tables/vendor/unicode-security/src/tables.rs > lib/offsetwise/confusables.tsv

In November 2026, no Python package on PyPI had this table of Unicode 15 or later; that crate, of the unicode-rs
project, is generated from Unicode's own `confusables.txt`, and names its version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_VERSION = re.compile(r"UNICODE_VERSION: \(u64, u64, u64\) = \((\d+), (\d+), (\d+)\);")
_TABLE = re.compile(r"const CONFUSABLES: &'static \[\(char, &'static \[char\]\)\] = &\[(.*?)\n    \];", re.DOTALL)
_ENTRY = re.compile(r"\('\\u\{([0-9a-f]+)\}',\s*&\[(.*?)\]\)", re.DOTALL)
_CHARACTER = re.compile(r"'\\u\{([0-9a-f]+)\}'")


def main() -> None:
    source = Path(sys.argv[1]).read_text(encoding="utf-8")
    version, table = _VERSION.search(source), _TABLE.search(source)
    if version is None or table is None:
        sys.exit(f"{sys.argv[1]}: expected src/tables.rs of unicode-security 0.1.3, found another file.")
    print(
        f"# Unicode {'.'.join(version.groups())}, security/confusables.txt, by way of the crate unicode-security 0.1.3."
    )
    print(
        "# (c) Unicode, Inc., Unicode License v3 (https://www.unicode.org/license.txt). Made by tools/confusables.py."
    )
    print("# A character, and the characters that stand for it in a skeleton (UTS #39), in hexadecimal.")
    for character, prototype in _ENTRY.findall(table[1]):
        print(f"{character}\t{' '.join(_CHARACTER.findall(prototype))}")


if __name__ == "__main__":
    main()
