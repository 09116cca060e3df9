"""Reading an agent: from what it printed to report, promises, errors and words.

Start in ``reading.py``. Nothing here raises on what an agent wrote: every reader returns what it
could read and the problems it met. It must never know the loop that judges what was read.
"""
