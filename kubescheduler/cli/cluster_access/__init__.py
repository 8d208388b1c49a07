"""Clusters that a command line names: by files, or by a kubeconfig."""
