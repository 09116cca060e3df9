"""Backlog.md: one Markdown file a task, with its status in the front matter.

What is common to all plans in several files is in the room above.
"""
