"""Exercises: a folder with a task, what a student begins with, a solution, and checks of what the student made."""
