"""Many clusters by many configurations: cases, workers, and one row for each."""
