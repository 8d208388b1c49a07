"""What the scheduler writes: bindings, statuses, deletions, volumes and claims."""
