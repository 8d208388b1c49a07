"""Decides where a Kubernetes pod goes exactly as kube-scheduler does, and says why."""

__version__ = "0.1.0"
