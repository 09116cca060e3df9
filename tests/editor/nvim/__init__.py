"""Neovim for tests, with the configuration that ``docs/editors/neovim.md`` tells people to copy."""
