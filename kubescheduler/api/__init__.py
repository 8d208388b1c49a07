"""The classes and functions that ``import kubescheduler`` offers: clusters, schedulers, comparisons, simulations."""
