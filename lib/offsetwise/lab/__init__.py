"""Two real brokers, MirrorMaker 2 and a sample job: for the tests, and for trying the tool out."""

from offsetwise.lab.cluster import Lab, ServiceStatus
from offsetwise.lab.mirrors import Policy

__all__ = ["Lab", "Policy", "ServiceStatus"]
