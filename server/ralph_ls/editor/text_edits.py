"""The least edits, line by line, that make one text of another.

What an edit does not touch keeps its folds, its marks and the cursor in it. It must never know
what the texts are about.
"""

from __future__ import annotations

from lsprotocol import types

from ralph_ls.editor.convert import Encoding, code_units


def edits_between(before: str, after: str, encoding: Encoding) -> list[types.TextEdit]:
    """Edits that replace whole lines; an end that has no line ending is reached within its line."""
    from ralph_ls.core.plan.diff.text_diff import changed_stretches, lines_with_endings

    old, new = lines_with_endings(before), lines_with_endings(after)

    def position(line: int) -> types.Position:
        if line < len(old) or not old or old[-1].endswith(("\n", "\r")):
            return types.Position(line=line, character=0)
        return types.Position(line=line - 1, character=code_units(old[-1], encoding))

    return [
        types.TextEdit(
            range=types.Range(start=position(begin), end=position(end)),
            new_text="".join(new[from_:to]),
        )
        for begin, end, from_, to in changed_stretches(old, new)
    ]
