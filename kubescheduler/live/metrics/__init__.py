"""What a live scheduler exports for Prometheus: the families of its release, and what feeds them."""
