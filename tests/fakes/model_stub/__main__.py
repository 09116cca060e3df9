"""Serve a script until standard input is closed; the first line printed is the address.

python -m tests.fakes.model_stub SCRIPT.json
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fakes.model_stub import ModelStub, load_script


def main(script: str) -> int:
    """Say the address, serve, and fail where the agent asked for something that was not there."""
    with ModelStub(load_script(Path(script))) as stub:
        print(stub.url, flush=True)  # noqa: T201
        sys.stdin.read()
    print(*stub.problems, sep="\n", file=sys.stderr)  # noqa: T201
    return 1 if stub.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
