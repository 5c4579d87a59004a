"""What two MirrorMaker processes of one lab share: nothing."""

from __future__ import annotations

from offsetwise.lab.mirrors import Policy, configuration


def properties(name: str) -> dict[str, str]:
    written = configuration(name=name, policy=Policy.IDENTITY, topics=["t"], old="o:1", new="n:1", settings={})
    return dict(line.split(" = ", 1) for line in written.splitlines())


def test_no_two_mirrors_are_in_one_connect_group_on_either_cluster() -> None:
    # The worker that joins second would wait for the first one's connectors, and never start its own.
    there, back = properties("there"), properties("back")
    for key in ("old.group.id", "new.group.id", "offset.storage.topic", "config.storage.topic", "status.storage.topic"):
        assert there[key] != back[key], key
