"""Where everything is decided: pure values and functions that the engine and the editor share.

It exists so that a rule can be tried by table, by property and by replay of a recorded run.
Nothing here
knows a file, a process, a socket or a clock: facts come in as arguments, time comes in as
``now``, and
what shall be done goes out as values.
"""
