"""Neovim for tests, with the configuration that ``docs/editors/neovim.md`` says to copy."""
