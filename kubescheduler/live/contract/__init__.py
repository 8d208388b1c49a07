"""What the parts of the live scheduler share: records and protocols, no I/O."""
