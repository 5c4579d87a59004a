"""What every other value is made of: offsets and counts that files carry as decimal strings, and partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any


class DecimalString:
    """Marks an integer that files carry as a decimal string.

    Pydantic asks for the schema below when it reads or writes a file; nothing else looks at it.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept decimal strings inside int64 (and plain integers from Python), write strings."""
        from pydantic_core import core_schema  # noqa: PLC0415 - Spark's workers do not have it

        def parse(value: object) -> object:
            if not isinstance(value, str):
                return value
            digits = value.removeprefix("-")
            if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
                raise ValueError(f"expected an integer as a decimal string, found {value[:40]!r}")
            return int(value)

        return core_schema.no_info_before_validator_function(
            parse,
            core_schema.int_schema(strict=True, ge=-(2**63), le=2**63 - 1),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, str]:
        """Describe the decimal string to JSON Schema."""
        return {"type": "string", "pattern": "^-?[0-9]{1,19}$"}


Offset = Annotated[int, DecimalString()]
"""The next record to read, int64."""

Count = Annotated[int, DecimalString()]
"""A number of records."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicPartition:
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
