"""``python -I -m ralph_ls`` is ``ralph``."""

from __future__ import annotations

from ralph_ls.cli.main import run

if __name__ == "__main__":
    run()
