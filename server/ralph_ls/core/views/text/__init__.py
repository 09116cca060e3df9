"""Run status, events and agent output as lines of plain text, for terminals and logs.

No colours and no layout; where a line is written is not known here.
"""
