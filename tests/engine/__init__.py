"""The engine and what stands around it: real processes, real git, real files."""
