from __future__ import annotations

from typing import Final

from offsetwise.client_properties import check, servers
from offsetwise.ports.stream import Spec

SPEC: Final = Spec(
    name="kafka",
    label="Kafka",
    kinds={"kafka": "Kafka", "dynamic-kafka": "Kafka, several clusters"},
    compared=frozenset({"kafka"}),
    check=check,
    addresses=servers,
    holds_copies=True,
    ends_watched=True,
)
