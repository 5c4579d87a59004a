"""The lab's state file: the services in a folder, so that a later command can find and stop them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from offsetwise.errors import LabError
from offsetwise.lab.processes import Process

FORMAT: Final = "offsetwise/lab"
FORMAT_VERSION: Final = "1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    name: str
    """`old`, `new`, or `mirror-` and the mirror's name. Its folder inside the lab has the same name."""
    process: Process
    port: int | None = None
    """Port of the broker on 127.0.0.1; None for a mirror."""
    controller_port: int | None = None
    topics: tuple[str, ...] = ()
    """The topics that a mirror copies; empty for a broker."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """The services of one lab folder, in `lab.json`, replaced as a whole on every change."""

    path: Path

    def read(self) -> dict[str, Service]:
        """Return the recorded services by name; empty if the folder never contained a lab.

        Raises:
            LabError: The file was not written by a lab.
        """
        try:
            body = json.loads(self.path.read_text(encoding="utf-8"))
            if body["format"] != FORMAT or body["format_version"].split(".")[0] != "1":
                raise ValueError(f"it says {body['format']} {body['format_version']}")
            return {service["name"]: _service(service) for service in body["services"]}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LabError(
                f"{self.path}: expected the state of a lab, but it cannot be read ({error}). "
                "Nothing was started or stopped, since it is not known what runs.",
                fix=f"End what is left of it by hand, remove {self.path.parent}, then run `offsetwise lab up` again.",
            ) from error

    def write(self, services: dict[str, Service]) -> None:
        body = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "services": [asdict(service) for _, service in sorted(services.items())],
        }
        temporary_path = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        temporary_path.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        temporary_path.replace(self.path)


def _service(body: dict[str, object]) -> Service:
    process, topics = body["process"], body["topics"]
    if not isinstance(process, dict) or not isinstance(topics, list):
        raise TypeError(f"the service {body['name']} is incomplete")
    return Service(
        name=str(body["name"]),
        process=Process(pid=int(process["pid"]), started=str(process["started"])),
        port=_port(body["port"]),
        controller_port=_port(body["controller_port"]),
        topics=tuple(str(topic) for topic in topics),
    )


def _port(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or not 0 < value < 65536:
        raise ValueError(f"found the port {value!r}")
    return value
