"""From text to a tree of nodes, macros expanded, and back."""
