"""Policies and providers translated into the KubeSchedulerConfiguration of a later release."""
