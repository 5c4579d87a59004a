"""The basic types: offsets, counts and times that files carry as strings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final

from offsetwise.position import Position

_FIRST_YEAR: Final = 1970
IN_FILES_FIRST: Final = "offsetwise_in_files_first"
"""Marks a choice of schemas of which files use only the first."""
_SPELLED: Final = "(0|-?[1-9][0-9]{0,18})"


class DecimalString:
    """Marks an integer that files carry as a decimal string.

    Pydantic calls the methods below when it reads or writes a file; nothing else uses them.
    """

    spelled: ClassVar[str] = _SPELLED
    least: ClassVar[int] = -(2**63)
    most: ClassVar[int] = 2**63 - 1

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept decimal strings within the bounds, in the one canonical spelling, and write them.

        Spark's workers, which have no pydantic, return plain integers: these are accepted too. `files` uses the first
        choice only.
        """
        from pydantic_core import core_schema  # noqa: PLC0415 - Spark's workers do not have it

        # Both are pydantic's own schemas, without a Python call for each of a plan's many numbers.
        spelled = core_schema.custom_error_schema(
            core_schema.str_schema(strict=True, pattern=f"^{self.spelled}$"),
            custom_error_type="decimal_string",
            custom_error_message="expected an integer as a decimal string, spelled as in '42'",
        )
        number = core_schema.int_schema(strict=False, ge=self.least, le=self.most)
        plain = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        return core_schema.union_schema(
            [core_schema.chain_schema([spelled, number]), plain],
            mode="left_to_right",
            metadata={IN_FILES_FIRST: True},
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, str]:
        return {"type": "string", "pattern": f"^{self.spelled}$"}


class HashKeyString(DecimalString):
    """Marks a hash key, 128 bits; see `DecimalString`."""

    spelled = "(0|[1-9][0-9]{0,38})"
    least = 0
    most = 2**128 - 1


class TimeString(DecimalString):
    """Marks milliseconds since the epoch, to the year 9999; see `DecimalString`."""

    spelled = "(0|[1-9][0-9]{0,14})"
    least = 0
    most = 253_402_300_799_999


class PositionText(DecimalString):
    """Marks a position that files carry as its text, for Kafka a decimal string; see `DecimalString`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept the texts of every stream that is registered when a file is read."""
        from pydantic_core import core_schema  # noqa: PLC0415 - Spark's workers do not have it

        from offsetwise.registry import position_parsers  # noqa: PLC0415 - as above

        number = super().__get_pydantic_core_schema__(source, handler)
        others = position_parsers()
        if not others:
            return number

        def parsed(text: Any) -> Any:
            positions = (parse(text) for parse in others) if isinstance(text, str) else ()
            position = next((candidate for candidate in positions if candidate is not None), None)
            if position is None:
                raise ValueError("expected the text of a position")
            return position

        spelled, plain = number["choices"]
        text = core_schema.union_schema(
            [spelled, core_schema.no_info_plain_validator_function(parsed)],
            mode="left_to_right",
            custom_error_type="position",
            custom_error_message="expected an integer as a decimal string, spelled as in '42', or the text of a "
            "position of another stream",
        )
        return number | {"choices": [text, plain]}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, str]:
        from offsetwise.registry import position_parsers  # noqa: PLC0415 - as above

        return {"type": "string"} if position_parsers() else super().__get_pydantic_json_schema__(schema, handler)


Offset = Annotated[int, DecimalString()]
"""The next record to read of a Kafka partition, int64."""

AnyPosition = Annotated[Position, PositionText()]
"""The next record to read, of any stream."""

Count = Annotated[int, DecimalString()]
"""A number of records."""

TimeMs = Annotated[int, TimeString()]
"""Milliseconds since the epoch, in the years 1970 to 9999."""

HashKey = Annotated[int, HashKeyString()]
"""The hash of a partition key, 0 to 2^128 - 1."""


class IsoTime:
    """Marks a time that files carry in ISO 8601; see `DecimalString`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept the years 1970 to 9999 in UTC: every display can show these."""
        from pydantic_core import core_schema  # noqa: PLC0415 - Spark's workers do not have it

        def check(value: str) -> str:
            try:
                year = datetime.fromisoformat(value).astimezone(UTC).year
            except (ValueError, OverflowError):
                year = 0
            if year < _FIRST_YEAR:
                raise ValueError(f"expected a time in ISO 8601, of the years 1970 to 9999, found {value[:40]!r}")
            return value

        return core_schema.no_info_after_validator_function(check, core_schema.str_schema(strict=True))


Time = Annotated[str, IsoTime()]
"""ISO 8601."""


def time_of(at: datetime) -> Time:
    """Return a time as files carry it: ISO 8601 in UTC, to the millisecond, with a Z."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def epoch_ms(time: Time) -> int:
    """Return the milliseconds since the epoch of a time from a file."""
    return int(datetime.fromisoformat(time).timestamp() * 1000)


MAX_TIME_MS: Final = TimeString.most
"""The last millisecond of the year 9999, since the epoch."""
