"""The command that runs a scheduler in a cluster."""
