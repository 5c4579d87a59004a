"""Remedies of what a snapshot states where a cluster refuses, and of what the sinks and the groups of a job show."""

from __future__ import annotations
