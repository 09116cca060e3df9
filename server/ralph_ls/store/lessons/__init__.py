"""Lesson files: places, acceptance, history of all runs, and what is exchanged with a team.

Belongs here: reading and writing them. Not here: what a lesson is, and which of them fit a task.
"""
