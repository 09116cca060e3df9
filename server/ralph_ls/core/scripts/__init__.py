"""Shell scripts read without running them: their commands, and the files that these run.

Nothing here knows a disk, nor who has approved what.
"""
