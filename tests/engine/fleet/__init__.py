"""Fleets in this process: tables, leases, mirrors, merges and verbs, on SQLite and real remotes."""
