"""Numbers per node in blocks that are copied when written to, and the best of them."""
