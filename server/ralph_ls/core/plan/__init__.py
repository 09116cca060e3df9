"""Plans as values: read from text, counted, chosen from, and edited in place.

Everything here is a pure function over text and values; where a plan is stored, who changed it
and when is for the store and the engine to know.
"""
