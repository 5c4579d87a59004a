"""A file of each shape, as its system prints it or its documentation shows it, with its positions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

At = tuple[str, str, int, int]
"""(group, topic, partition, offset)"""

BOTH: Final[tuple[At, ...]] = (("", "orders", 0, 1050), ("", "orders", 1, 950))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One file."""

    shape: str
    text: str
    positions: tuple[At, ...]
    part: str = ""
    """What the URI names behind `#`; empty where the file tells by itself."""
    printed: str | None = None
    """What it is printed back as, where that is not the text itself: it has more than positions, or another order."""


def segment(partition: int, sequence: int, *, start: int, end: int | None) -> dict[str, str]:
    """Return the metadata of a segment, as the controller of Pinot gives it."""
    metadata = {
        "segment.crc": "1090576205",
        "segment.name": f"orders__{partition}__{sequence}__20220301T1504Z",
        "segment.realtime.numReplicas": "1",
        "segment.realtime.startOffset": str(start),
        "segment.realtime.status": "IN_PROGRESS" if end is None else "DONE",
    }
    return metadata if end is None else metadata | {"segment.realtime.endOffset": str(end)}


SEGMENTS: Final = [
    segment(0, 0, start=0, end=1000),
    segment(0, 1, start=1000, end=1050),
    segment(0, 2, start=1050, end=None),
    segment(1, 0, start=0, end=950),
]
DRUID: Final = (
    '{"type":"kafka","partitions":{"type":"end","stream":"orders","partitionOffsetMap":{"0":1050,"1":950}}}\n'
)
EXAMPLES: Final = {
    "offsets-json": Example(
        shape="offsets-json",
        text='{"orders":{"0":1050,"1":950}}\n',
        positions=BOTH,
        part="offsets-json",
    ),
    "a group exported": Example(
        shape="kafka-consumer-groups-csv", text="orders,0,1050\norders,1,950\n", positions=BOTH
    ),
    "two groups exported": Example(
        shape="kafka-consumer-groups-csv",
        text='etl,"a-topic-of-more-than-24-characters",0,7\n"the other one",orders,0,1050\n',
        positions=(("etl", "a-topic-of-more-than-24-characters", 0, 7), ("the other one", "orders", 0, 1050)),
    ),
    "one of two groups": Example(
        shape="kafka-consumer-groups-csv",
        text="etl,orders,0,7\nother,orders,0,1050\n",
        positions=(("other", "orders", 0, 1050),),
        part="positions:kafka-consumer-groups-csv:other",
        printed="other,orders,0,1050\n",
    ),
    "as println ends it": Example(
        shape="kafka-consumer-groups-csv",
        text="orders,0,1050\r\norders,1,950\r\n\r\n",
        positions=BOTH,
        printed="orders,0,1050\norders,1,950\n",
    ),
    "connect-offsets": Example(
        shape="connect-offsets",
        text='{"offsets":[{"partition":{"kafka_partition":0,"kafka_topic":"orders"},"offset":{"kafka_offset":1050}},'
        '{"partition":{"kafka_partition":1,"kafka_topic":"orders"},"offset":{"kafka_offset":950}}]}\n',
        positions=BOTH,
    ),
    "druid-supervisor": Example(shape="druid-supervisor", text=DRUID, positions=BOTH),
    "metadata that Druid committed": Example(
        shape="druid-supervisor",
        text=json.dumps(
            {
                "type": "kafka",
                "partitions": {
                    "type": "end",
                    "stream": "orders",
                    "topic": "orders",
                    "partitionSequenceNumberMap": {"0": 1050, "1": 950},
                    "partitionOffsetMap": {"0": 1050, "1": 950},
                    "exclusivePartitions": [],
                },
            }
        ),
        positions=BOTH,
        printed=DRUID,
    ),
    "pinot-segments": Example(
        shape="pinot-segments",
        text=json.dumps({metadata["segment.name"]: metadata for metadata in SEGMENTS}),
        positions=BOTH,
        part="pinot-segments:orders",
    ),
    "segments in a list": Example(
        shape="pinot-segments", text=json.dumps(SEGMENTS), positions=BOTH, part="pinot-segments:orders"
    ),
    "one segment": Example(
        shape="pinot-segments",
        text=json.dumps(SEGMENTS[3]),
        positions=(("", "orders", 1, 950),),
        part="pinot-segments:orders",
    ),
    "hudi": Example(shape="hudi", text="orders,0:1050,1:950\n", positions=BOTH),
    "spark-starting-offsets": Example(
        shape="spark-starting-offsets",
        text='{"orders":{"0":1050,"1":950}}\n',
        positions=BOTH,
        part="spark-starting-offsets",
    ),
    "flink-specific-offsets": Example(
        shape="flink-specific-offsets",
        text="'topic' = 'orders',\n'scan.startup.mode' = 'specific-offsets',\n"
        "'scan.startup.specific-offsets' = 'partition:0,offset:1050;partition:1,offset:950'\n",
        positions=BOTH,
    ),
    "the value alone": Example(
        shape="flink-specific-offsets",
        text="partition:0,offset:42;partition:1,offset:300",
        positions=(("", "orders", 0, 42), ("", "orders", 1, 300)),
        part="flink-specific-offsets:orders",
        printed="'topic' = 'orders',\n'scan.startup.mode' = 'specific-offsets',\n"
        "'scan.startup.specific-offsets' = 'partition:0,offset:42;partition:1,offset:300'\n",
    ),
    "mirror-checkpoints": Example(
        shape="mirror-checkpoints",
        text="Checkpoint{consumerGroupId=etl, topicPartition=orders-0, upstreamOffset=1000, downstreamOffset=905, "
        "metadata=}\n"
        "Checkpoint{consumerGroupId=etl, topicPartition=orders-0, upstreamOffset=1050, downstreamOffset=950, "
        "metadata=}\n",
        positions=(("etl", "orders", 0, 1050),),
    ),
    "renamed by MirrorMaker": Example(
        shape="mirror-checkpoints",
        text="Checkpoint{consumerGroupId=etl, topicPartition=old.orders-0, upstreamOffset=1050, downstreamOffset=950, "
        "metadata=}\n",
        positions=(("etl", "orders", 0, 1050),),
        part="mirror-checkpoints:old.",
    ),
}
"""By what they are called in tests."""

DOCUMENTED: Final = {
    "Druid: reset offsets for a supervisor, where the supervisor resumes at 100 and 650": Example(
        shape="druid-supervisor",
        text='{"type":"kafka","partitions":{"type":"end","stream":"ads_media_stream",'
        '"partitionOffsetMap":{"0":100, "2": 650}}}',
        positions=(("", "ads_media_stream", 0, 100), ("", "ads_media_stream", 2, 650)),
    ),
    "Pinot: the metadata of a segment of 101,912 rows from 100,000 on": Example(
        shape="pinot-segments",
        text=json.dumps(
            {
                "segment.crc": "1090576205",
                "segment.creation.time": "1646147045318",
                "segment.end.time": "1646147463422",
                "segment.flush.threshold.size": "101912",
                "segment.index.version": "v3",
                "segment.name": "events__0__1__20220301T1504Z",
                "segment.realtime.download.url": "http://localhost:9000/segments/events/events__0__1__20220301T1504Z",
                "segment.realtime.endOffset": "201912",
                "segment.realtime.numReplicas": "1",
                "segment.realtime.startOffset": "100000",
                "segment.realtime.status": "DONE",
                "segment.start.time": "1646147042226",
                "segment.table.name": "events",
                "segment.time.unit": "MILLISECONDS",
                "segment.total.docs": "101912",
                "segment.type": "REALTIME",
            }
        ),
        positions=(("", "events", 0, 201_912),),
        part="pinot-segments:events",
    ),
    "Hudi: the explicit form of --checkpoint": Example(
        shape="hudi",
        text="users.public.transactions,0:106600",
        positions=(("", "users.public.transactions", 0, 106_600),),
    ),
    "Flink: scan.startup.specific-offsets": Example(
        shape="flink-specific-offsets",
        text="'topic' = 'user_behavior', 'scan.startup.specific-offsets' = "
        "'partition:0,offset:42;partition:1,offset:300'",
        positions=(("", "user_behavior", 0, 42), ("", "user_behavior", 1, 300)),
    ),
}
"""The examples of the systems' own pages: Druid's Supervisor API, Pinot's recipe on segment thresholds, the answer to
issue 8522 of Hudi, and Flink's page on the Kafka SQL connector."""
