"""What is: the cluster as data. Objects, quantities, selectors, columns and the cache; no I/O."""
