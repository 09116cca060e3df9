"""Figures: metrics of runs without an engine, kept beside their journals.

A journal of ten thousand iterations takes seconds to read, its figures a fraction of one. A file of
figures is only used with exactly the journal and the version that it was made of; deleting it loses
nothing. A live run is always measured from its journal.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import cache

from pydantic import BaseModel, ValidationError

from ralph_ls import __version__
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.json_output import IterationMetrics, RunMetrics
from ralph_ls.protocol.run.state import TaskReceipt
from ralph_ls.store.files import PRIVATE_FILE, open_regular_unbuffered, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles

FIGURES_VERSION = 1
"""Increase it when the same journal has other figures than before."""

END = 4096
"""Bytes at the end of a journal, by which it is known: its last lines, with times and numbers."""


class KeptFigures(WireModel):
    """Content of ``figures.json``."""

    made_by: str
    mark: str
    """Length of the journal, and a digest of its end."""
    run: RunMetrics


@cache
def _version() -> str:
    """This package's version and the names of all fields, as a field may be added without one."""
    models: tuple[type[BaseModel], ...] = (RunMetrics, IterationMetrics, TaskReceipt)
    names = " ".join(name for model in models for name in model.model_fields)
    digest = hashlib.blake2b(names.encode(), digest_size=6).hexdigest()
    return f"{__version__} {FIGURES_VERSION} {digest}"


def _mark(files: RunFiles) -> str:
    """Which journal the figures are of; raises OSError where it cannot be read."""
    with open_regular_unbuffered(files.journal) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - END))
        end = file.read(END)
    return f"{size} {hashlib.blake2b(end, digest_size=16).hexdigest()}"


def read_figures(files: RunFiles) -> RunMetrics | None:
    """The figures that are kept, if this version made them from this journal; else None."""
    with contextlib.suppress(OSError, StateUnusable, ValidationError):
        data = read_if_there(files.figures)
        if data is not None:
            found = KeptFigures.model_validate_json(data)
            if found.made_by == _version() and found.mark == _mark(files):
                return found.run
    return None


def save_figures(files: RunFiles, run: RunMetrics) -> None:
    """Keep the figures of a run without an engine; what cannot be written is measured again."""
    with contextlib.suppress(OSError, StateUnusable):
        kept = KeptFigures(made_by=_version(), mark=_mark(files), run=run)
        data = kept.model_dump_json(by_alias=True, exclude_defaults=True)
        write_atomic(files.figures, data.encode(), mode=PRIVATE_FILE)
