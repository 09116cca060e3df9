"""LSP on pygls: frames, codec, errors, transport and the fixes that pygls needs.

Nothing here knows a run, a plan or a work tree. Each fix of pygls is a class or function whose
docstring names the version, the defect and what to report upstream (``pygls X.Y.Z: …``).
"""
