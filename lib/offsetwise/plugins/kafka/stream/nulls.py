"""Nulls in answers of brokers: kafka-python reads them as None, also where Kafka's protocol has none."""

from __future__ import annotations

from typing import Any, Final

_TEXT: Final = "string"


def is_whole(message: Any) -> bool:
    """Return whether a message, as kafka-python has decoded it, has a value in every field that may not be null."""
    version = message.version
    for field in message.fields.values():
        if field.for_version_q(version) and not field.tagged_field_q(version):
            value = getattr(message, field.name)
            if value is None:  # which in a field of another type is an id of zeros
                if _may_be_null_on_the_wire(field) and not field.nullable_for_version_q(version):
                    return False
            elif not all(is_whole(each) for each in _parts(field, value)):
                return False
    return True


def _may_be_null_on_the_wire(field: Any) -> bool:
    return bool(field.is_array() or field.is_struct_array() or field.type_str == _TEXT)


def _parts(field: Any, value: Any) -> Any:
    if field.is_struct():
        return (value,)
    return value if field.is_struct_array() else ()
