"""The demo key: anybody can have it, so it approves the bundled sample and nothing else."""

from __future__ import annotations

import hashlib
from typing import Final

from offsetwise.approval import keys
from offsetwise.model import Plan

SAMPLE_CLUSTERS: Final = ("b293O5StTAyCeuTNjGl4vQ", "bx91MkiHSky9MfS3ylNQ1Q")
"""The ids of the clusters that the bundled sample was recorded from. They exist no more."""
DEMO_KEY_ID: Final = "a04af87f335fb1f2f083832b21c28bf5a8e87f1758b36703141cb4d14a8da8e4"


def demo_key() -> keys.PrivateKey:
    """Give the demo key. It is no secret: it is made of this sentence."""
    seed = hashlib.sha256(b"Offsetwise's demo key approves the bundled sample and nothing else.").digest()
    return keys.demo(seed)


def is_of_sample(plan: Plan) -> bool:
    """Whether a plan is of the bundled sample. A cluster that is not known is never the sample's."""
    return (plan.requirements.old.cluster_id, plan.requirements.new.cluster_id) == SAMPLE_CLUSTERS
