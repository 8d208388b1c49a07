"""kube-scheduler's own command line, as each release has it."""
