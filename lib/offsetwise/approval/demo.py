"""The demo key: it is public, so it approves the bundled samples and nothing else."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files as package_files
from typing import Final

from offsetwise import files
from offsetwise.approval import keys
from offsetwise.bundled import Bundled
from offsetwise.model import Plan

DEMO_KEY_ID: Final = "a04af87f335fb1f2f083832b21c28bf5a8e87f1758b36703141cb4d14a8da8e4"


def demo_key() -> keys.PrivateKey:
    """Return the demo key. It is not secret: its seed is the hash of a sentence in this function."""
    seed = hashlib.sha256(b"Offsetwise's demo key approves the bundled sample and nothing else.").digest()
    return keys.demo(seed)


@cache
def sample_clusters(which: Bundled = Bundled.SPARK) -> tuple[object, object]:
    """Return the ids of the old and the new cluster of a bundled sample, which exist no more.

    Raises:
        FileError: The bundled sample is damaged.
    """
    old, new = (
        files.read_object((package_files("offsetwise") / which / name).read_bytes(), subject=name).get("cluster_id")
        for name in ("old.json", "new.json")
    )
    return old, new


def sample_of(plan: Plan) -> Bundled | None:
    """Return the bundled sample of a plan; None if it belongs to none. An unknown cluster is never a sample's.

    A plan that moves no position names only the cluster of the sink.
    """
    requirements = plan.requirements
    moves = requirements.old.cluster_id, requirements.new.cluster_id
    sink = None if requirements.sink is None else requirements.sink.cluster_id
    ends_only = not plan.positions and sink is not None
    if None in moves and not ends_only:
        return None
    for which in Bundled:
        its = sample_clusters(which)
        if (ends_only or moves == its) and (sink is None or sink in its):
            return which
    return None


def is_of_sample(plan: Plan) -> bool:
    return sample_of(plan) is not None
