"""Plan documents: the files beside a plan that its format puts into a prompt, and its instructions.

Files of the repository, so only regular ones inside of it are read, up to a limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from ralph_ls.core.plan.formats.plan_format import PlanFormat
from ralph_ls.core.plan.formats.registry import plan_name
from ralph_ls.core.prompt.documents import PlanDocument, plan_notes
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.files import read_regular, resolve_inside
from ralph_ls.store.project.detection import expand
from ralph_ls.store.project.prompt_texts import format_texts

MOST_DOCUMENTS = 20
LARGEST_FILE = 1 << 20
"""Most bytes of a document."""


def notes_of_plan(root: Path, path: str, known: PlanFormat) -> str:
    """The part of a prompt about a plan's format and its documents."""
    values = {
        "PLAN": path,
        "FOLDER": path.rpartition("/")[0],
        "NAME": plan_name(path, known),
    }
    documents = tuple(itertools.islice(_documents(root, path, known), MOST_DOCUMENTS))
    return plan_notes(format_texts().get(known.instructions, ""), values, documents)


def _documents(root: Path, path: str, known: PlanFormat) -> Iterator[PlanDocument]:
    folder = path.rpartition("/")[0]
    for pattern in known.documents:
        for found in expand(root, pattern, folder=folder):
            try:
                data = read_regular(resolve_inside(root, found), LARGEST_FILE)
            except RalphError:
                continue
            if data:
                yield PlanDocument(path=found, text=data.decode("utf-8", errors="replace"))
