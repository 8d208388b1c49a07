"""Queues and loops on clocks that are turned by hand."""
