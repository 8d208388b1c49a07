"""What the scheduler reads of the cluster: lists and watches that end up as changes in order."""
