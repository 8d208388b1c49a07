"""Families of verbs beyond looking and editing: tuning, hints, sides, time, code, exercises, sharing."""
