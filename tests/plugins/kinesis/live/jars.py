"""What the live tests of Kinesis run in Java, from Maven Central.

`python -m tests.plugins.kinesis.live.jars` fetches it, as `make proof` does, so that no test needs a network.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from offsetwise.errors import OffsetwiseError
from offsetwise.jars import locked_jars
from offsetwise.lab.java import find_java

DYNAMODB: Final = "dynamodb-local-2.6.1"
QUBOLE: Final = "qubole-1.2.0"
LEGACY: Final = "flink-kinesis-4.3.0"
KCL: Final = ("2.7.2", "3.5.1")
SETS: Final[Mapping[str, tuple[str, ...]]] = {
    DYNAMODB: ("com.amazonaws:DynamoDBLocal:2.6.1",),
    LEGACY: ("org.apache.flink:flink-connector-kinesis:4.3.0-1.19",),
    # Spark 3.0 takes Java 17 with a newer Scala, and the connector's HTTP client has to be as new as Spark's core.
    QUBOLE: (
        "com.qubole.spark:spark-sql-kinesis_2.12:1.2.0_spark-3.0",
        "joda-time:joda-time:2.8.1",
        "org.apache.httpcomponents:httpclient:4.5.13",
        "org.apache.spark:spark-sql_2.12:3.0.3",
        "org.scala-lang:scala-library:2.12.18",
    ),
    **{
        f"kcl-{version}": (
            f"software.amazon.kinesis:amazon-kinesis-client:{version}",
            "org.slf4j:slf4j-simple:2.0.13",
        )
        for version in KCL
    },
}
"""By the name of each set in the lock, what is asked for; what that needs is locked with it."""


def jars(name: str) -> Path:
    """Return the folder of a set."""
    return locked_jars(name, java=find_java)


def main() -> None:
    """Fetch every set, all at once: what takes long is asking for each file."""
    try:
        with ThreadPoolExecutor(len(SETS)) as pool:
            list(pool.map(jars, SETS))
    except OffsetwiseError as error:
        sys.exit(f"What the tests of Kinesis run could not be fetched. No test was run. {error}")


if __name__ == "__main__":
    main()
