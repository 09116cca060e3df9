"""Task Master: the tasks and subtasks of ``tasks.json``, read and edited in place.

What is common to all formats with operations is in the room above.
"""
