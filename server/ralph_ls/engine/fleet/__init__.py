"""Fleet in the world: its database, its queue, and workers that run tasks of many repositories.

A task is an ordinary run in a lane, and a merge is that of a parallel run (``engine.parallel``).
Which task may start is decided in ``core.fleet_rules``; the queue is DBOS Transact, an optional
extra, and only ``durable`` and ``database`` import what it brings.
"""
