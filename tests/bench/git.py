"""Git in a tree of 10 000 files: the HEAD, one look at what has changed, and a commit.

Ours against GitPython's own ways and against a bare subprocess, beside each other in one tree.
The commit is made as the loop makes it: git itself takes the paths and commits, with hooks and
signing; ``index.commit`` of GitPython writes the objects itself, and knows neither.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import git as gitpython

from ralph_ls.engine.git import OwnFiles, read_head, take_baseline
from tests.bench.figures import Figure

N_FILES = 10_000
N_ROUNDS = 15
