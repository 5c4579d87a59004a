"""The patch of a FlinkDeployment, for the Flink Kubernetes Operator from 1.8 on.

The operator's behaviour is the method `redeployWithSavepoint` of its class `AbstractJobReconciler`, and the page "Job
Management" of its documentation, "Redeploy using the savepointRedeployNonce".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from offsetwise.plan.operators.patch import Body, Deployment, OperatorPatch

_NONCE_DIGITS: Final = 8
"""Hexadecimal digits of the plan's digest that make the nonce: it differs between plans and is stable for each."""


def _spec(deployment: Deployment, digest: str) -> Body:
    job = {
        "initialSavepointPath": deployment.uri,
        # Without a change of the nonce the operator uses the path at the first deployment only.
        "savepointRedeployNonce": 1 + int(digest[:_NONCE_DIGITS], 16),
        "state": "running",
        "upgradeMode": "savepoint",
    }
    spec: dict[str, Any] = {"job": job}
    if deployment.servers is not None:
        # A map, whose other keys a merge keeps; it would replace `args` and lists of containers as a whole.
        keys = (f"containerized.{process}.env.{deployment.servers_env}" for process in ("master", "taskmanager"))
        spec["flinkConfiguration"] = dict.fromkeys(keys, deployment.servers)
    return spec


def _remarks(deployment: Deployment) -> Iterator[str]:
    yield "Stop the job before the plan is drafted: `state: suspended` with `upgradeMode: savepoint`."
    yield "A job that runs is cancelled without a savepoint, and what it read since then is read again."
    yield "The new savepointRedeployNonce makes the operator (1.8 or later) start from initialSavepointPath;"
    yield "it cannot roll back from there. With `upgradeMode: last-state` leave that line out."
    if deployment.servers is not None:
        yield f"Flink sets {deployment.servers_env} in the pods: the job has to take its bootstrap servers from there."


FLINK_OPERATOR: Final = OperatorPatch(
    name="flink-operator",
    api_version="flink.apache.org/v1beta1",
    kind="FlinkDeployment",
    spec=_spec,
    remarks=lambda deployment: tuple(_remarks(deployment)),
)
