"""Configurations and flags of an older kube-scheduler, as v1 and the flags that are left."""
