"""Plans kept in beads: issues, bd commands and output, work queue, guard and evidence.

Nothing here starts bd; it returns the commands to run.
"""
