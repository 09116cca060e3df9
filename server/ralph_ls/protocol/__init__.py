"""The vocabulary: what a run tells, what a person may ask, what a setting may be.

Every model here is frozen and goes over the wire, into the journal and into the schemas in the
same shape. This package imports nothing else of ours, and never does input or output.
"""
