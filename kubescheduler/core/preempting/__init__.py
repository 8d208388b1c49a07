"""Preemption of 1.16: candidates, victims, costs, and what is remembered of them."""
