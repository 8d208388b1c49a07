"""One scheduler of several leads; the others stand by."""
