"""Clusters and pods from files, folders and standard input."""
