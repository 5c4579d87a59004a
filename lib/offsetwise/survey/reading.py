"""The survey: each cluster is read once, each checkpoint is opened once. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from offsetwise import client_properties
from offsetwise.client_properties import BY_HAND, GivenCluster
from offsetwise.client_properties.connectors import ConnectorAddress
from offsetwise.config import is_uri
from offsetwise.engines.discovery import MAX_CHECKPOINTS, find_checkpoints
from offsetwise.errors import ClusterError, ConfigError, NotAFolderError, OffsetwiseError
from offsetwise.model import Cluster, Snapshot, time_of
from offsetwise.progress import Progress, no_progress
from offsetwise.streams.reader import reader_of
from offsetwise.survey.connectors import surveyed_connectors
from offsetwise.survey.jobs import (
    Logs,
    Positions,
    read_job,
    surveyed_groups,
    told_groups,
    unused,
    with_names,
    without_connectors,
)
from offsetwise.survey.link import config_of, link_of
from offsetwise.survey.missing_values import missing_values
from offsetwise.survey.naming import Naming, naming, user_topics
from offsetwise.survey.results import (
    Survey,
    SurveyedCheckpoint,
    SurveyedCluster,
    SurveyedConnector,
    SurveyedLink,
    Trouble,
)
from offsetwise.wording import many

READ_AT_ONCE: Final = 16
"""How many checkpoints are read in parallel: an object store answers after tens of milliseconds."""
TIMEOUT_S: Final = 30
"""The time for reading one whole cluster, in seconds."""
SHOWN: Final = 20
"""How many problems of one cluster are listed."""


def survey(
    old: GivenCluster,
    new: GivenCluster,
    roots: Sequence[str],
    progress: Progress = no_progress,
    *,
    connect: Sequence[ConnectorAddress] = (),
) -> Survey:
    """Collect the content of a migration file from both clusters and the checkpoints below some roots.

    Args:
        old: The connection of the old cluster.
        new: The connection of the new cluster.
        roots: The folders to search for checkpoints.
        progress: Called with each step.
        connect: The workers of Kafka Connect to ask for connectors.

    Raises:
        ConfigError: Properties that no client could use, or the same address twice. Nothing was contacted.
    """
    given = {Cluster.OLD: old, Cluster.NEW: new}
    for side, cluster in given.items():
        client_properties.check(cluster.properties, where=f"--{side}")
    _check_two_addresses(old, new)
    problems: list[Trouble] = []
    with client_properties.lent({**old.secrets, **new.secrets}):
        snapshots = {side: _snapshot(side, given[side], problems, progress) for side in Cluster}
        names = naming(snapshots[Cluster.OLD], snapshots[Cluster.NEW])
        link = link_of(given, snapshots, names, problems)
    connectors = surveyed_connectors(connect, given, snapshots, problems, progress)
    return surveyed(
        given,
        snapshots,
        names,
        link=link,
        roots=roots,
        connectors=connectors,
        problems=problems,
        progress=progress,
    )


def surveyed(
    given: Mapping[Cluster, GivenCluster],
    snapshots: Mapping[Cluster, Snapshot | None],
    names: Naming,
    *,
    link: SurveyedLink,
    roots: Sequence[str],
    connectors: Sequence[SurveyedConnector] = (),
    problems: Sequence[Trouble] = (),
    progress: Progress = no_progress,
) -> Survey:
    """Read the checkpoints, and combine them with the snapshots of the clusters.

    Args:
        given: The connections of the clusters.
        snapshots: The snapshots of the clusters; None if one did not answer.
        names: The names of the topics on both.
        link: How records come to the new cluster.
        roots: The folders to search for checkpoints.
        connectors: The connectors of the workers.
        problems: Earlier failures.
        progress: Called with each step.
    """
    once: dict[str, str] = {}
    for root in roots:
        once.setdefault(_real_location(root), root)
    roots = tuple(once.values())
    old, new = snapshots[Cluster.OLD], snapshots[Cluster.NEW]
    troubles = [*problems, *_same_cluster(old, new)]
    results = list(_checkpoints(roots, _logs(snapshots), troubles, progress))
    groups, others = surveyed_groups(old, dict(names.pairs))
    groups, checkpoints = told_groups(groups, results, old)
    connectors = with_names(connectors, checkpoints)
    variables = sorted({name for cluster in given.values() for name in _variables(cluster)})
    survey = Survey(
        taken_at=time_of(datetime.now(UTC)),
        old=_surveyed(given[Cluster.OLD], old, names.old_alias),
        new=_surveyed(given[Cluster.NEW], new, names.new_alias),
        link=link,
        topics=names.topics,
        roots=roots,
        checkpoints=checkpoints,
        groups=without_connectors(groups, connectors),
        connectors=connectors,
        other_groups=others,
        variables=tuple(name for name in variables if not os.environ.get(name)),
        missing=(),
        problems=tuple(troubles),
    )
    return replace(survey, missing=tuple(missing_values(survey)))


def _variables(cluster: GivenCluster) -> Iterator[str]:
    for value in cluster.properties.values():
        if value.startswith("${"):
            yield value[2:-1]


def _check_two_addresses(old: GivenCluster, new: GivenCluster) -> None:
    shared = client_properties.servers(old.properties) & client_properties.servers(new.properties)
    if shared:
        raise ConfigError(
            f"--old and --new: expected two clusters, found {min(shared)} in the bootstrap.servers of both. Nothing "
            "was contacted.",
            fix="Correct one of the two addresses.",
        )


def _snapshot(side: Cluster, given: GivenCluster, problems: list[Trouble], progress: Progress) -> Snapshot | None:
    progress(f"read the {side} cluster", 0, 1)
    config = config_of(side, given)
    try:
        groups = None if side is Cluster.OLD else ()
        read = reader_of(config).read_whole(side, config, topics=None, groups=groups, timeout_s=TIMEOUT_S)
        snapshot = read.snapshot(None, groups)
    except ClusterError as error:
        problems.append(Trouble(problem=error.problem, fix=error.fix))
        return None
    finally:
        progress(f"read the {side} cluster", 1, 1)
    problems += [Trouble(problem=problem.message, fix=problem.fix) for problem in snapshot.problems[:SHOWN]]
    if len(snapshot.problems) > SHOWN:
        more = many(len(snapshot.problems) - SHOWN, "other problem")
        problems.append(
            Trouble(
                problem=f"Cluster {side!r} has {more}.",
                fix=f"`offsetwise snapshot --migration FILE --cluster {side} --out SNAPSHOT` lists them.",
            )
        )
    return snapshot


def _same_cluster(old: Snapshot | None, new: Snapshot | None) -> Iterator[Trouble]:
    if old is not None and new is not None and old.cluster_id is not None and old.cluster_id == new.cluster_id:
        yield Trouble(
            problem=f"--old and --new: expected two clusters, found the cluster id {old.cluster_id!r} on both, so that "
            "everything would be compared with itself.",
            fix="Correct bootstrap.servers of one of them.",
        )


def _surveyed(given: GivenCluster, snapshot: Snapshot | None, alias: str) -> SurveyedCluster:
    properties = tuple(given.properties.items())
    if snapshot is None:
        return SurveyedCluster(properties=properties, left_out=given.left_out, alias=alias)
    names = user_topics(snapshot)
    return SurveyedCluster(
        properties=properties,
        left_out=given.left_out,
        alias=alias,
        cluster_id=snapshot.cluster_id,
        topics=len(names),
        partitions=sum(len(topic.partitions) for topic in snapshot.topics if topic.name in names),
        groups=len(snapshot.groups) if snapshot.cluster is Cluster.OLD else None,
    )


def _logs(snapshots: Mapping[Cluster, Snapshot | None]) -> Logs:
    return {
        side: {at: state.log for at, state in snapshot.partitions().items()}
        for side, snapshot in snapshots.items()
        if snapshot is not None
    }


def _checkpoints(
    roots: Sequence[str], logs: Logs, problems: list[Trouble], progress: Progress
) -> Iterator[tuple[SurveyedCheckpoint, Positions]]:
    results: dict[str, tuple[str, str]] = {}
    for number, root in enumerate(roots):
        progress("look for checkpoints", number, len(roots))
        for uri in _checkpoints_below(root, problems):
            results.setdefault(_real_location(uri), (uri, root))
    progress("look for checkpoints", len(roots), len(roots))
    uris = dict(results.values())
    names = _names(uris)
    unread, has_opaque_positions = [], 0
    with ThreadPoolExecutor(READ_AT_ONCE) as pool:
        read = pool.map(partial(read_job, logs=logs), names.values(), uris, uris.values())
        for number, (surveyed_checkpoint, positions) in enumerate(read):
            progress("read the checkpoints", number + 1, len(uris))
            unread += [surveyed_checkpoint] if surveyed_checkpoint.left_out is not None else []
            has_opaque_positions += surveyed_checkpoint.shards > 0
            yield surveyed_checkpoint, positions
    if unread:
        shown = "; ".join(f"{checkpoint.uri}: {checkpoint.left_out}" for checkpoint in unread[:3])
        problems.append(
            Trouble(
                problem=f"{many(len(unread), 'checkpoint')} of {len(uris):,} cannot be compared and "
                f"{'is a comment' if len(unread) == 1 else 'are comments'} in the file: {shown}"
                f"{'; …' if len(unread) > 3 else ''}",
                fix="`offsetwise inspect URI` says more of one. "
                + (BY_HAND if has_opaque_positions else "Run init again with --update when it can be read."),
            )
        )


def _real_location(location: str) -> str:
    path = location.removeprefix("file://").removeprefix("file:")
    return location.rstrip("/") if is_uri(path) else os.path.abspath(path)


def _checkpoints_below(root: str, problems: list[Trouble]) -> tuple[str, ...]:
    try:
        below = find_checkpoints(root)
    except NotAFolderError:
        return (root,)  # a dump of a lease table; otherwise reading it reports the problem
    except OffsetwiseError as error:
        problems.append(Trouble(problem=error.problem, fix=error.fix))
        return ()
    if not below.uris:
        problems.append(
            Trouble(
                problem=f"{root}: expected checkpoints in it, found none in {many(below.folders, 'folder')}"
                f"{'' if below.complete else ', and there are more below'}.",
                fix="Give the folder of a checkpoint, or one above at most four levels of folders; a dump of a table "
                "by its own path.",
            )
        )
    elif not below.complete or len(below.uris) >= MAX_CHECKPOINTS:
        problems.append(
            Trouble(
                problem=f"{root}: {many(len(below.uris), 'checkpoint')} in {many(below.folders, 'folder')}, and there "
                "are more, which were not looked for.",
                fix="Give narrower roots, and write a migration file for each.",
            )
        )
    return below.uris


def _names(uris: Mapping[str, str]) -> dict[str, str]:
    """Return a name for each checkpoint: its path below the root, or the root's own name; duplicates get a number."""
    names: dict[str, str] = {}
    given: set[str] = set()
    for uri, root in uris.items():
        below = uri.removeprefix(root.rstrip("/")).strip("/") or root.rstrip("/").rpartition("/")[2] or "checkpoint"
        name = "".join(character if character.isprintable() else "_" for character in below.replace("/", "-"))[-190:]
        names[uri] = unused(name, given)
    return names
