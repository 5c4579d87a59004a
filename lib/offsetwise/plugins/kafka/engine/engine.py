from __future__ import annotations

from typing import Final

from offsetwise.engines.engine import Engine
from offsetwise.model import SubjectKind

GROUP: Final = Engine(name=SubjectKind.GROUP.value, label="consumer group")
