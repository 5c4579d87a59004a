"""What MirrorMaker 2 and Kafka 4.1.1 answered, recorded by the file's `_about`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

GOLDEN: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "mm2-golden-vectors.json").read_text(encoding="utf-8")
)
