"""Escapes log lines, so that text of strangers cannot control the terminal that shows the log."""

from __future__ import annotations

import logging
import traceback
from typing import Any, Final

from offsetwise.lookalikes import marked

_NEWLINE: Final = "\N{SYMBOL FOR NEWLINE}"


class _EscapedRecord(logging.LogRecord):
    """A record whose text is printable, and whose values are one line each."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if self.exc_info and self.exc_info[0] is not None:
            # A formatter keeps an existing text.
            self.exc_text = _lines("".join(traceback.format_exception(*self.exc_info)).rstrip("\n"))

    def getMessage(self) -> str:  # noqa: N802 - logging's own name
        if not isinstance(self.args, tuple) or not self.args:
            return _lines(super().getMessage())
        values = (arg.replace("\n", _NEWLINE) if isinstance(arg, str) else arg for arg in self.args)
        return _lines(str(self.msg) % tuple(values))


def escape() -> None:
    """Escape control characters in every line that this process logs, tracebacks included."""
    logging.setLogRecordFactory(_EscapedRecord)


def _lines(text: str) -> str:
    return "\n".join(marked(line) for line in text.split("\n"))
