"""GitHub issues as a queue: the answers of GitHub, who may add to it, the file that mirrors it.

Nothing here starts ``gh``; it returns what to send, and reads what came back.
"""
