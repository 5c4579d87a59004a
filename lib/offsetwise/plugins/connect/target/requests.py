from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from offsetwise.engines.exchange import HttpReply, UnansweredError, ask
from offsetwise.errors import ApplyError, LostReplyError
from offsetwise.model import TopicPartition
from offsetwise.plugins.connect.engine.offsets import request_body
from offsetwise.plugins.connect.engine.reading import Connector
from offsetwise.plugins.connect.engine.workers import OK, message

_SAID: Final = b"manages offsets externally"
"""Part of the answer of a connector that may also manage offsets itself (`completeModifyOffsetsCallback`)."""
_SERVER_ERROR: Final = 500


def change(connector: Connector, offsets: Mapping[TopicPartition, int | None] | None) -> str:
    """Change the offsets of a connector, or delete all of them.

    The request is sent to the first worker that accepts a connection, and to no other one after that.

    Args:
        connector: The connector.
        offsets: The new offset of each partition, None for no offset; None for no offsets at all.

    Returns:
        Additional information in the answer, as a sentence after a space; empty if there is none.

    Raises:
        ApplyError: It was refused, and nothing was changed.
        LostReplyError: It is not known whether it was done.
    """
    answer = _sent(connector, offsets)
    if answer.status == OK:
        outside = " The connector may keep offsets of its own in the system that it writes to; these were not changed."
        return outside if _SAID in answer.body else ""
    reason = f"HTTP {answer.status}{message(answer)}"
    if answer.status >= _SERVER_ERROR:
        raise lost(connector.uri, f"expected that the worker changes the offsets, found {reason}")
    raise ApplyError(
        f"{connector.uri}: expected that the worker changes the offsets, found {reason}. Nothing was changed.",
        fix="Wait until the workers have rebalanced (409) or the connector is stopped (400), let the user change the "
        "connector (401, 403), then run the same command again.",
    )


def lost(subject: str, reason: str, *, because: str = "") -> LostReplyError:
    """Return the error of a change that may have been made, for all partitions, some, or none.

    Args:
        subject: The connector.
        reason: The evidence, as a sentence without its end.
        because: The cause, as a sentence.
    """
    return LostReplyError(
        f"{subject}: {reason}. {because}{' ' if because else ''}Whether the offsets are changed, all or some of them, "
        "is not known.",
        fix="Run the same command again when the workers answer: it reads the connector first, and continues "
        "from there.",
    )


def _sent(connector: Connector, offsets: Mapping[TopicPartition, int | None] | None) -> HttpReply:
    workers = connector.workers
    method, body = ("DELETE", None) if offsets is None else ("PATCH", request_body(offsets))
    reasons = []
    for worker in workers.answering:
        try:
            return ask(worker, method, f"{workers.path}/offsets", workers.access, body)
        except UnansweredError as error:
            if error.sent:
                raise lost(connector.uri, f"the answer to {method} was lost, because {error.reason}") from error
            reasons.append(f"{worker}: {error.reason}")
    raise ApplyError(
        f"{connector.uri}: expected a worker that answers, found none: {'; '.join(reasons)[:600]}. Nothing was "
        "changed.",
        fix="Start a worker, then run the same command again.",
    )
