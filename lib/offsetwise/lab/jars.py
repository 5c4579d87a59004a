from __future__ import annotations

from pathlib import Path
from typing import Final

from offsetwise.jars import locked_jars
from offsetwise.lab.java import find_java

KAFKA_VERSION: Final = "4.1.1"


def kafka_jars(version: str = KAFKA_VERSION) -> Path:
    """Return the folder with the jars of a Kafka of the lock; see `locked_jars`.

    Raises:
        JavaError: They must be fetched, and Java is missing or too old.
        JarError: They cannot be fetched, or are not those of the lock.
    """
    return locked_jars(f"kafka-{version}", java=find_java)
