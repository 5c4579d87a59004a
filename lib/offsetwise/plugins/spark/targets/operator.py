"""The patch of a SparkApplication, for the Spark operator of Kubeflow (`sparkoperator.k8s.io/v1beta2`).

The operator has no field for a checkpoint or for Kafka: a query names both in its code. So the driver gets both in its
environment. `spark.sql.streaming.checkpointLocation` is not set: it is the folder above the checkpoints of all named
queries, an option in the code takes precedence over it, and a query without a name would begin in a new folder with a
random name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.plan.operators.patch import Body, Deployment, OperatorPatch


def _spec(deployment: Deployment, digest: str) -> Body:  # noqa: ARG001 - as every patch
    environment = {deployment.checkpoint_env: deployment.uri}
    if deployment.servers is not None:
        environment[deployment.servers_env] = deployment.servers
    # A map, whose other keys a merge keeps; it would replace `arguments` and `driver.env` as a whole.
    conf = {f"spark.kubernetes.driverEnv.{name}": value for name, value in environment.items()}
    return {"sparkConf": conf, "suspend": False}


def _remarks(deployment: Deployment) -> Iterator[str]:
    yield "Stop the query before the plan is drafted: `suspend: true` (operator 2.4 or later), which deletes its pods."
    yield "The operator submits the application again whenever its spec changes."
    names, values = deployment.checkpoint_env, "checkpointLocation"
    if deployment.servers is not None:
        names, values = f"{names} and {deployment.servers_env}", f"{values} and kafka.bootstrap.servers"
    yield f"Spark sets {names} in the driver: the query has to take {values} from there."


SPARK_OPERATOR: Final = OperatorPatch(
    name="spark-operator",
    api_version="sparkoperator.k8s.io/v1beta2",
    kind="SparkApplication",
    spec=_spec,
    remarks=lambda deployment: tuple(_remarks(deployment)),
)
