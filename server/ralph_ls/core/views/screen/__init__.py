"""The full screen of a terminal: tasks, limits, iterations and the running tool, as lines of text.

What is drawn with it, and which key does what, is not known here.
"""
