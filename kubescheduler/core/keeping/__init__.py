"""What is kept from decision to decision: totals that classes share, what each class adds to them, answers by row."""
