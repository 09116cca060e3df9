"""The steps of a plan: its boxes, whatever they belong to, and which of them are ticked.

A task is worked on for several iterations while its sub-tasks and criteria are ticked, or while the
work is split into more. Steps are compared without numbers and marks, so that a box which counts
iterations is one step, and once done they count as done for good, so that ticking back and forth
is no step. It must never know what a task is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_BOX = re.compile(r"^[ \t>|]*(?:[-*+]|\d+[.)])?[ \t|]*\[([ xX~!/-])\][ \t]+(.*)$", re.MULTILINE)
_VARIABLE = re.compile(r"[\d\W_]+")


def steps_of(text: str) -> dict[str, bool]:
    """Every box of a text by its words, and whether it is ticked."""
    steps: dict[str, bool] = {}
    for mark, words in _BOX.findall(text):
        name = _VARIABLE.sub(" ", words).strip().lower()
        steps[name] = steps.get(name, False) or mark in "xX"
    return steps


def merged_steps(known: Mapping[str, bool], now: Mapping[str, bool]) -> dict[str, bool]:
    """All steps that were ever there; what was done once is done."""
    names = dict.fromkeys((*known, *now))
    return {name: known.get(name, False) or now.get(name, False) for name in names}


def goes_on(known: Mapping[str, bool], now: Mapping[str, bool]) -> bool:
    """Whether a step became done for the first time, or is there for the first time."""
    return any(name not in known or (done and not known[name]) for name, done in now.items())
