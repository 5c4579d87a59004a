"""Spark's Kafka connector: the jars that Spark itself lacks, of exactly the version of PySpark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyspark

from offsetwise.errors import ConnectorError, JarError
from offsetwise.jars import locked, locked_jars

CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def connector_jars(java: Callable[[], str]) -> list[str]:
    """Give the paths of the connector's jars, compared with the lock.

    Args:
        java: Gives the path of the `java` command; asked only where jars must be fetched.

    Raises:
        ConnectorError: The lock knows no connector of this PySpark, or the jars cannot be fetched or are others.
    """
    name = f"spark-kafka-{pyspark.__version__}"
    known = sorted(each.removeprefix("spark-kafka-") for each in locked() if each.startswith("spark-kafka-"))
    if name not in locked():
        raise ConnectorError(
            f"Spark's Kafka connector of PySpark {pyspark.__version__}: expected its SHA-256 in jars.lock, found those "
            f"of {', '.join(known)}. No record was read.",
            fix="Install one of these PySparks, or name the connector yourself under spark.conf in the migration file: "
            f"its files in spark.jars, or {CONNECTOR}:{pyspark.__version__} in spark.jars.packages, which Spark "
            "fetches without comparing it with anything that Offsetwise knows.",
        )
    try:
        return [str(path) for path in sorted(locked_jars(name, java=java).iterdir())]
    except JarError as error:
        raise ConnectorError(
            error.problem,
            fix=f"{error.fix} Offline, put the connector's jars into spark.jars in the migration file.",
        ) from error
