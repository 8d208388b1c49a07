"""``kubescheduler hint``: what would make a pod fit."""
