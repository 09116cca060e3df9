"""Whether there may be a secret in a piece of data, told at the speed of reading it.

Nearly all that an agent prints holds none, and Python's own search for a hundred patterns is ten
times too slow to find that out. pydantic brings a regular-expression engine that searches for all
of them in one pass, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

from ralph_ls.core.secret_forms import COLOUR
from ralph_ls.core.token_rules import TOKEN_RULES

Filter = Callable[[bytes], bool]

_COLOUR = re.compile(COLOUR)
_WRAP = r"(?:[ \t]*(?:\r?\n|\r|\\r\\n|\\[nr])[ \t]*)?"
_ESCAPED_COLOUR = r"\\(?:u001b|x1b|033|e)\["
_MOST_REQUIRED = 12
"""Characters of a token after its prefix that are looked at."""
_AT_ONCE = 120
"""Forms in one search; more of them make it slow."""
_LENGTHS = (12, 8, 6)
"""So many characters of each form are looked for: fewer where the pattern gets too large."""


def make_filter(forms: Sequence[bytes]) -> Filter:
    """A function that is true for all data in which a form or a token may be."""
    groups = [forms[start : start + _AT_ONCE] for start in range(0, len(forms), _AT_ONCE)]
    searches = [_search([*_TOKENS, _ESCAPED_COLOUR], groups[0] if groups else ())]
    searches += [_search([], group) for group in groups[1:]]

    def may_hold(data: bytes) -> bool:
        text = data.decode("latin-1")
        if any(search(text) for search in searches):
            return True
        if b"\x1b" not in data:
            return False
        text = _COLOUR.sub(b"", data).decode("latin-1")
        return any(search(text) for search in searches)

    return may_hold


def may_hold_prefix(data: bytes) -> bool:
    """Whether a token that begins with a fixed prefix may be in ``data``."""
    return _prefix_search()(data.decode("latin-1"))


@cache
def _prefix_search() -> Callable[[str], bool]:
    return _search(_PREFIXES, ())


def _search(tokens: Sequence[str], forms: Sequence[bytes]) -> Callable[[str], bool]:
    for length in _LENGTHS:
        wanted = [*tokens, *(_WRAP.join(map(_escape, form[:length])) for form in forms)]
        try:
            return SchemaValidator(
                core_schema.str_schema(pattern="|".join(wanted), regex_engine="rust-regex")
            ).isinstance_python
        except SchemaError:
            continue
    return lambda _: True  # Too much for one pattern: each piece of data is searched the slow way.


def _escape(byte: int) -> str:
    return chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\x{{{byte:02x}}}"


def _of_rule(prefix: str, body: bytes, least: int) -> str:
    required = f"{body.decode()}{{{min(least, _MOST_REQUIRED)}}}"
    return "".join(map(_escape, prefix.encode())) + required


_PREFIXES = tuple(_of_rule(*rule) for rule in TOKEN_RULES)
_TOKENS = (
    *_PREFIXES,
    r"""://[^ \t-\r/:@"'<>\\`?#]*:[^ \t-\r/@"'<>\\`?#]+@""",
    r"eyJ[A-Za-z0-9_\-]{10,512}\.eyJ",
    r"PRIVATE KEY[ BLOCK]{0,6}-----",
    r"DEK-Info: ",
    r"Bearer [A-Za-z0-9._~+/=\-]{12}",
)
