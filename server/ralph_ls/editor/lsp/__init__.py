"""LSP on pygls: frames, codec, errors, transport and the fixes that pygls needs.

Nothing here knows a run, a plan or a work tree. A fix of pygls that could go upstream belongs
in a small module.
"""
