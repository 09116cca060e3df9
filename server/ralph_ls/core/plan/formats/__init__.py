"""Plan formats and their registry: where tasks are, how they are written, read and edited.

A format may use every other room of the plan; only the registry knows all formats.
"""
