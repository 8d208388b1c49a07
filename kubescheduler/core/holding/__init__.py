"""What is held of nodes: numbers in blocks that are copied when written to, the best of them, answers by row."""
