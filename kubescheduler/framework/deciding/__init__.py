"""Deciding where one pod goes: PreFilter, Filter, PostFilter, Score and select, over columns."""
