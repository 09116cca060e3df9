"""Setting up a loop: files, documents, task templates and hooks that `ralph init` writes.

Rules for a draft are in `core`; who asks is not known here.
"""
