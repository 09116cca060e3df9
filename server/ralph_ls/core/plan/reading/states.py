"""Which state a word or an emoji says, where a plan has no box to say it.

``Status:`` lines, columns of tables, and the signs in headings such as ``### 1.1 🟢 Parser``.
A word goes before an emoji; what nobody knows says nothing. Where a sign has two meanings it is
read as the one that leaves work to do, because a task overlooked ends a run too early.
"""

from __future__ import annotations

import re

from ralph_ls.protocol.plan import TaskState


def read_state(text: str) -> TaskState | None:
    """Read ``In progress (80 %)``, ``✅ Done``, ``**Blocked** on a key``; None for the rest."""
    words = _WORDS.match(text.translate(_MARKS).lower())
    if words is not None:
        state = _STATE_OF_WORD[" ".join(re.split(r"[\s_-]+", words[1]))]
        share = _SHARE.search(text)
        is_partly = share is not None and share[1] != "100"
        return TaskState.IN_PROGRESS if state is TaskState.DONE and is_partly else state
    found = _SIGN.search(text)
    return None if found is None else _STATE_OF_SIGN[found[1]]


def find_sign(text: str) -> tuple[int, int] | None:
    """Find the first emoji that says a state, wherever it stands in a heading."""
    found = _SIGN.search(text)
    return None if found is None else found.span()


def find_remark(text: str) -> tuple[int, int] | None:
    """Find a remark in brackets that begins with such an emoji: ``(✅ Complete)``."""
    found = _REMARK.search(text)
    return None if found is None else found.span()


def opening_sign(text: str) -> tuple[int, int] | None:
    """Find an emoji that says a state at the beginning of an item."""
    found = _SIGN.match(text)
    return None if found is None else found.span()


_SIGNS = {
    TaskState.DONE: "✅✔☑✓🟢",
    TaskState.IN_PROGRESS: "🟡🔄🚧⏳🔵🟠",
    TaskState.TODO: "⬜◻☐🔲⚪🔴⭕❌",
    TaskState.BLOCKED: "🚫⛔🛑",
    TaskState.SKIPPED: "⏭",
}
_STATE_OF_SIGN = {sign: state for state, signs in _SIGNS.items() for sign in signs}
_SIGN = re.compile(f"([{''.join(_STATE_OF_SIGN)}])\ufe0f?")
_REMARK = re.compile(rf"\({_SIGN.pattern}[^()]*\)")
_NAMES = {
    TaskState.DONE: "complete|completed|done|finished|implemented|closed|merged|shipped",
    TaskState.IN_PROGRESS: "in progress|wip|started|ongoing|partial|partially",
    TaskState.TODO: "todo|to do|not|open|pending|planned|ready|incomplete|backlog",
    TaskState.BLOCKED: "blocked|on hold|waiting",
    TaskState.SKIPPED: "skipped|deferred|cancelled|canceled|obsolete|wont do",
}
_STATE_OF_WORD = {name: state for state, names in _NAMES.items() for name in names.split("|")}
_WORDS = re.compile(
    r"[^\w]*("
    + "|".join(
        name.replace(" ", r"[\s_-]+") for name in sorted(_STATE_OF_WORD, key=len, reverse=True)
    )
    + r")(?!\w)"
)
_MARKS = str.maketrans("", "", "*`'\u2019")
_SHARE = re.compile(r"([0-9]{1,3})(?:\.[0-9]+)? ?%")
