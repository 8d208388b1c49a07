"""What plugins and the framework agree on: points, statuses, CycleState, Handle."""
