"""Patches of the custom resources by which Kubernetes operators run jobs."""
