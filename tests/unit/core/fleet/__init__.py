"""Fleets as decisions: references between repositories, and which tasks may start."""
