"""Surveys of the bundled samples: their clusters as recorded, their checkpoints as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import offsetwise
from offsetwise import files
from offsetwise.client_properties import GivenCluster
from offsetwise.model import Cluster, Link, MirrorState, Snapshot, TopicState
from offsetwise.survey.naming import naming
from offsetwise.survey.reading import surveyed
from offsetwise.survey.results import Survey, SurveyedLink

LIB = Path(offsetwise.__file__).parent
GIVEN = {side: GivenCluster(properties={"bootstrap.servers": f"{side}.invalid:9092"}) for side in Cluster}
MIRRORED = SurveyedLink(link=Link.MIRRORMAKER, evidence="MirrorMaker's own topics: heartbeats")


def snapshots(sample: str) -> dict[Cluster, Snapshot | None]:
    return {
        side: files.load((LIB / sample / f"{side}.json").read_bytes(), "snapshot", subject=side) for side in Cluster
    }


def survey_of(
    sample: str, *roots: Path, taken: Mapping[Cluster, Snapshot | None] | None = None, link: SurveyedLink = MIRRORED
) -> Survey:
    taken = taken or snapshots(sample)
    folders = [str(root) for root in roots or (LIB / sample / "checkpoints",)]
    return surveyed(GIVEN, taken, naming(taken[Cluster.OLD], taken[Cluster.NEW]), link=link, roots=folders)


def cluster(side: Cluster, topics: Sequence[str], mirror: MirrorState | None = None) -> Snapshot:
    empty = Snapshot(cluster=side, name=side, alias=side, cluster_id=side, taken_at="2026-01-01T00:00:00Z")
    return replace(empty, topics=tuple(TopicState(name=name) for name in topics), mirror=mirror or MirrorState())
