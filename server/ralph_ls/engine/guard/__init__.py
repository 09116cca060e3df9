"""Guard: restores what an agent may not change, in the work tree and in the branch.

The rules of what is protected are in ``core``.
"""
