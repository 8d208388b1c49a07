"""The queues of pending pods, one family for each release."""
