"""Evidence for finished tasks: criteria, the commands they name, and check outcomes.

Nothing here runs a command; evidence of issues and stories is written in formats.
"""
