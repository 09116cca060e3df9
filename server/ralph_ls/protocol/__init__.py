"""Frozen models that cross a process border: wire, journal, settings and schemas.

Also the catalog of agents, whose names are values of settings. Imports nothing else of ours and
does no input or output. A class name here is a wire name.
"""
