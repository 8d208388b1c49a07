"""The scheduler's loop on a real clock, fed by informers."""
