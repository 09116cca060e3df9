"""Fleets on a real Postgres: several workers as processes, remotes, and kills."""
