"""The queue of pending pods: one for all releases, with what they do differently in its policy."""
