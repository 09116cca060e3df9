"""The loop's documents, as the client has them open or as on disk: snapshots, positions, edits.

It computes LSP edits and never writes a file; when and why an edit is offered is a feature's
concern.
"""
