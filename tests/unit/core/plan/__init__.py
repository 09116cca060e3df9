"""Plans: reading them, choosing from them, and changing them in place."""
