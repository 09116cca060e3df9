"""The sandbox around an agent: what works in it, and which attacks fail."""
