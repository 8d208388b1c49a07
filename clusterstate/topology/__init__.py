"""Inter-pod affinity and topology spreading over columns: terms, constraints, domains and their counts."""
