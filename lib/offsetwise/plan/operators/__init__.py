"""Patches of the resources by which operators of Kubernetes run jobs."""
