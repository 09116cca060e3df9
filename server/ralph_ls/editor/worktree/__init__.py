"""Work trees that the client has open: a thread follows each and reports immutable snapshots.

Only reads; documents, messages of the protocol and features do not belong here.
"""
