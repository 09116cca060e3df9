"""The engine and its surroundings: real processes, real git, real files."""
