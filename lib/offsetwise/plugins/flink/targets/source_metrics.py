"""The positions of a running Flink job's Kafka sources, by the metrics of its REST API.

Names: `KafkaSourceReaderMetrics` of the connector. `currentOffset` is the offset of the last record that was read,
`committedOffset` the next one to read at the latest checkpoint; both are -1 until there is one. Flink replaces
characters that a name may not contain with `_` (`MetricQueryService`), and collects metrics in the background: the
first answers may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from offsetwise.engines.rest import RestService

_NAME: Final = re.compile(
    r"[0-9]{1,6}\..{1,600}?\.KafkaSourceReader\.topic\.(.{1,249})\.partition\.([0-9]{1,9})\.(?:current|committed)Offset"
)
_LINE: Final = 2_000
"""Characters of names in one request; Netty accepts a line of 4,096."""
_MOST: Final = 500
"""Maximum number of requests; further metrics are not read."""
SourceOffsets = Mapping[tuple[str, int], int]
"""The furthest offset by topic, as `metric_name` spells it, and partition."""


def metric_name(topic: str) -> str:
    """Return a topic as it is spelled in names of metrics.

    >>> metric_name("eu.orders-1")
    'eu_orders-1'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", topic)


def read_source_offsets(service: RestService, job_id: str, vertices: Sequence[str]) -> SourceOffsets:
    """Read the offsets that the sources of a job report; partitions without one are missing.

    Args:
        service: REST API of the job.
        job_id: Its id.
        vertices: The ids of its vertices.

    Raises:
        StorageError: No answer, or another service's.
    """
    offsets: dict[tuple[str, int], int] = {}
    remaining = _MOST
    for vertex in vertices:
        path = f"/jobs/{job_id}/vertices/{vertex}/metrics"
        names = [name for name, _ in _metrics(service, path) if _NAME.fullmatch(name) and "," not in name]
        for batch in _batches(names)[:remaining]:
            remaining -= 1
            for name, value in _metrics(service, f"{path}?get={batch}"):
                match = _NAME.fullmatch(name)
                if match is None or not re.fullmatch(r"[0-9]{1,18}", value):
                    continue
                at = match[1], int(match[2])
                offsets[at] = max(offsets.get(at, 0), int(value))
    return offsets


def _metrics(service: RestService, path: str) -> Iterator[tuple[str, str]]:
    """Yield names and values; the value is empty if only names were requested."""
    body = service.get(path)
    if not isinstance(body, list):
        raise service.unlike(path, "a list of metrics")
    for metric in body:
        name, value = (metric.get("id"), metric.get("value", "")) if isinstance(metric, dict) else (None, None)
        if isinstance(name, str) and isinstance(value, str):
            yield name, value


def _batches(names: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for name in map(quote, names):
        if lines and len(lines[-1]) + len(name) < _LINE:
            lines[-1] = f"{lines[-1]},{name}"
        else:
            lines.append(name)
    return lines
