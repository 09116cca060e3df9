"""Agent output: what an agent process prints, turned into a report, promises, errors and usage.

The output vocabulary (messages, result, failures, usage) is here, next to the parser that joins
the signals with a
decoded stream. Pure: nothing here starts a process, reads a file or decides what the loop does
next.
"""
