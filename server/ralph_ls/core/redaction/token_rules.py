"""Token rules: the prefixes by which issuers mark their tokens, and patterns for whole tokens.

The rules are derived from the default ones of gitleaks 8.30.1 (MIT licence, see
token_rules.LICENSE), those with a fixed prefix; without its entropy thresholds and without rules
that need a name beside the value. Lengths are the issuer's where they are fixed, and a lower bound
where they vary. Sorted.

A rule is a sequence of atoms, each a set of characters with a repetition. It gives the pattern of a
whole token, and that of every beginning of one, which a stream has to hold back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

ALNUM = rb"[A-Za-z0-9]"
LOWER = rb"[a-z0-9]"
UPPER = rb"[A-Z0-9]"
HEX = rb"[A-Fa-f0-9]"
WORD = rb"[A-Za-z0-9_\-]"
DOTTED = rb"[A-Za-z0-9_.=\-]"
BASE64 = rb"[A-Za-z0-9+/=]"

TOKEN_RULES: tuple[tuple[str, bytes, int], ...] = (
    ("ABSK", BASE64, 100),
    ("AGE-SECRET-KEY-1", UPPER, 50),
    ("AIza", WORD, 35),
    ("AKCp", ALNUM, 69),
    ("ABIA", UPPER, 16),
    ("ACCA", UPPER, 16),
    ("AKIA", UPPER, 16),
    ("API-", UPPER, 26),
    ("ASIA", UPPER, 16),
    ("CLOJARS_", ALNUM, 60),
    ("EAAA", WORD, 60),
    ("EZAK", ALNUM, 54),
    ("EZTK", ALNUM, 54),
    ("FLWSECK_TEST-", ALNUM, 12),
    ("GR1348941", WORD, 20),
    ("HRKU-AA", WORD, 58),
    ("LTAI", ALNUM, 20),
    ("PMAK-", rb"[A-Fa-f0-9\-]", 59),
    ("SG.", DOTTED, 66),
    ("api_org_", ALNUM, 34),
    ("bedrock-api-key-", BASE64, 30),
    ("dapi", rb"[a-f0-9]", 32),
    ("doo_v1_", HEX, 64),
    ("dop_v1_", HEX, 64),
    ("dor_v1_", HEX, 64),
    ("dp.pt.", ALNUM, 40),
    ("dt0c01.", rb"[A-Za-z0-9.]", 80),
    ("duffel_live_", DOTTED, 43),
    ("duffel_test_", DOTTED, 43),
    ("eyJrIjoi", BASE64, 70),
    ("fio-u-", DOTTED, 64),
    ("fm1a_", BASE64, 100),
    ("fm1r_", BASE64, 100),
    ("fm2_", BASE64, 100),
    ("fo1_", WORD, 43),
    ("gho_", ALNUM, 16),
    ("ghp_", ALNUM, 16),
    ("ghr_", ALNUM, 16),
    ("ghs_", ALNUM, 16),
    ("ghu_", ALNUM, 16),
    ("github_pat_", rb"[A-Za-z0-9_]", 16),
    ("glagent-", WORD, 20),
    ("glc_", BASE64, 32),
    ("glcbt-", WORD, 20),
    ("gldt-", WORD, 20),
    ("glffct-", WORD, 20),
    ("glft-", WORD, 20),
    ("glimt-", WORD, 20),
    ("gloas-", WORD, 20),
    ("glpat-", rb"[A-Za-z0-9_.\-]", 20),
    ("glptt-", WORD, 20),
    ("glrt-", rb"[A-Za-z0-9_.\-]", 20),
    ("glsa_", rb"[A-Za-z0-9_]", 41),
    ("glsoat-", WORD, 20),
    ("hf_", rb"[A-Za-z]", 34),
    ("hooks.slack.com/services/", rb"[A-Za-z0-9+/]", 30),
    ("hvb.", WORD, 100),
    ("hvs.", WORD, 24),
    ("ico-", ALNUM, 32),
    ("lin_api_", ALNUM, 40),
    ("npm_", ALNUM, 36),
    ("ntn_", ALNUM, 46),
    ("ops_eyJ", BASE64, 100),
    ("pnu_", ALNUM, 36),
    ("pplx-", ALNUM, 48),
    ("pscale_oauth_", DOTTED, 32),
    ("pscale_pw_", DOTTED, 32),
    ("pscale_tkn_", DOTTED, 32),
    ("pul-", rb"[a-f0-9]", 40),
    ("pypi-AgE", WORD, 50),
    ("rdme_", LOWER, 70),
    ("rk_live_", ALNUM, 10),
    ("rk_test_", ALNUM, 10),
    ("rubygems_", rb"[a-f0-9]", 48),
    ("sha256~", WORD, 43),
    ("shpat_", HEX, 32),
    ("shpca_", HEX, 32),
    ("shppa_", HEX, 32),
    ("shpss_", HEX, 32),
    ("shippo_live_", HEX, 40),
    ("shippo_test_", HEX, 40),
    ("sk-", WORD, 16),
    ("sk_live_", ALNUM, 10),
    ("sk_test_", ALNUM, 10),
    ("sm_aat_", ALNUM, 16),
    ("sm_pat_", ALNUM, 16),
    ("sm_sat_", ALNUM, 16),
    ("sntrys_eyJpYXQiO", rb"[A-Za-z0-9+/=_]", 60),
    ("sntryu_", rb"[a-f0-9]", 64),
    ("sq0atp-", WORD, 22),
    ("tk-us-", WORD, 48),
    ("xapp-", rb"[A-Za-z0-9\-]", 20),
    ("xkeysib-", rb"[A-Za-z0-9\-]", 64),
    ("xoxa-", rb"[A-Za-z0-9\-]", 10),
    ("xoxb-", rb"[A-Za-z0-9\-]", 10),
    ("xoxe-", rb"[A-Za-z0-9\-]", 10),
    ("xoxo-", rb"[A-Za-z0-9\-]", 10),
    ("xoxp-", rb"[A-Za-z0-9\-]", 10),
    ("xoxr-", rb"[A-Za-z0-9\-]", 10),
    ("xoxs-", rb"[A-Za-z0-9\-]", 10),
)
"""Prefix, the characters after it, and their minimum number."""


CONTEXT = 3
"""Number of bytes before a token that decide whether it begins there."""


@dataclass(frozen=True, slots=True)
class TokenAtom:
    """A set of characters, or one character, with a repetition."""

    characters: bytes
    least: int = 1
    most: int = 1

    @property
    def pattern(self) -> bytes:
        return b"%b{%d,%d}" % (self.characters, self.least, self.most)


@dataclass(frozen=True, kw_only=True)
class TokenRule:
    """The shape of a kind of token."""

    name: bytes
    landmark: bytes
    """Literal bytes at the beginning of every such token."""
    atoms: tuple[TokenAtom, ...]
    """From the landmark on."""
    rest: bytes | None
    """The set of characters that continue it, without a limit."""
    guarded: bool = False
    """Whether it may not follow a word character."""
    before: int = 0
    """Number of atoms at the beginning that are not part of the secret."""
    after: int = 0
    """The same at the end."""

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """Matches a whole token from its landmark on; the group is the secret."""
        end = len(self.atoms) - self.after
        parts = (self.atoms[: self.before], self.atoms[self.before : end], self.atoms[end:])
        whole = b"%b(%b)%b" % tuple(b"".join(atom.pattern for atom in part) for part in parts)
        if self.guarded:
            first, others = self.atoms[: len(self.landmark)], self.atoms[len(self.landmark) :]
            prefix = b"".join(atom.characters for atom in first)
            guard = rb"(?:(?<![A-Za-z0-9]%b)|(?<=\\[nrtbf]%b)|(?<=[0-9\[]m%b))" % ((prefix,) * 3)
            whole = b"(%b%b%b)" % (prefix, guard, b"".join(atom.pattern for atom in others))
        return re.compile(whole)

    @cached_property
    def beginning(self) -> re.Pattern[bytes]:
        """Matches every proper beginning at the end of the data."""
        return re.compile(_beginning_of(self.atoms) + rb"\Z")

    @cached_property
    def longest(self) -> int:
        """Maximum number of bytes of the atoms."""
        return sum(atom.most for atom in self.atoms)

    @property
    def label(self) -> bytes:
        """The replacement for a token of this kind."""
        return b"[redacted %b]" % self.name


def _beginning_of(atoms: tuple[TokenAtom, ...]) -> bytes:
    """Matches every non-empty proper beginning of the sequence."""
    pattern = b""
    for number, atom in reversed(list(enumerate(atoms))):
        is_last = number == len(atoms) - 1
        most = atom.least - 1 if is_last else atom.most
        short = b"%b{%d,%d}" % (atom.characters, 1 if number == 0 else 0, most)
        if is_last:
            pattern = short if most else b""
        else:
            pattern = b"(?:%b%b|%b)" % (atom.pattern, pattern + rb"\Z", short)
    return pattern


def literal_atoms(text: bytes) -> tuple[TokenAtom, ...]:
    """One atom for each character."""
    return tuple(TokenAtom(re.escape(bytes([each]))) for each in text)


def prefix_rule(prefix: str, body: bytes, least: int) -> TokenRule:
    """The rule for a token with a fixed prefix."""
    landmark = prefix.encode()
    return TokenRule(
        name=landmark.rstrip(b"-_./~"),
        landmark=landmark,
        atoms=(*literal_atoms(landmark), TokenAtom(body, least, least)),
        rest=body,
        guarded=len(prefix) < 4 or prefix[-1].isalnum(),
    )


_URL_TEXT = rb"""[^\s/:@"'<>\\`\x00-\x1f?#]"""
_PASSWORD = rb"""[^\s/@"'<>\\`\x00-\x1f?#]"""
_NO_PLACEHOLDER = rb"""[^\s/@"'<>\\`\x00-\x1f?#$%{(*\[.]"""
_JWT = rb"[A-Za-z0-9_\-]"
_BREAK = rb"[\s\\rn]"
_KEY = rb"(?:[A-Za-z0-9+/=\s]|\\[nr])"

SHAPES = (
    TokenRule(
        name=b"password",
        landmark=b"://",
        atoms=(
            *literal_atoms(b"://"),
            TokenAtom(_URL_TEXT, 0, 64),
            *literal_atoms(b":"),
            TokenAtom(_NO_PLACEHOLDER),
            TokenAtom(_PASSWORD, 2, 128),
            *literal_atoms(b"@"),
        ),
        rest=None,
        before=5,
        after=1,
    ),
    TokenRule(
        name=b"JWT",
        landmark=b"eyJ",
        atoms=(
            *literal_atoms(b"eyJ"),
            TokenAtom(_JWT, 10, 512),
            *literal_atoms(b".eyJ"),
            TokenAtom(_JWT, 4, 4096),
            *literal_atoms(b"."),
            TokenAtom(_JWT, 10, 10),
        ),
        rest=_JWT,
    ),
    TokenRule(
        name=b"private key",
        landmark=b"-----BEGIN",
        atoms=(
            *literal_atoms(b"-----BEGIN "),
            TokenAtom(rb"[ A-Z0-9]", 0, 30),
            *literal_atoms(b"PRIVATE KEY"),
            TokenAtom(rb"[ BLOCK]", 0, 6),
            *literal_atoms(b"-----"),
            TokenAtom(_BREAK, 1, 8),
            TokenAtom(rb"[A-Za-z0-9+/=]", 16, 16),
        ),
        rest=_KEY,
    ),
    TokenRule(
        # The headers between the first line of an encrypted key and the key.
        name=b"private key",
        landmark=b"DEK-Info: ",
        atoms=(
            *literal_atoms(b"DEK-Info: "),
            TokenAtom(rb"[A-Za-z0-9,\-]", 8, 80),
            TokenAtom(_BREAK, 1, 8),
            TokenAtom(rb"[A-Za-z0-9+/=]", 16, 16),
        ),
        rest=_KEY,
    ),
    TokenRule(
        name=b"bearer token",
        landmark=b"Bearer ",
        atoms=(*literal_atoms(b"Bearer "), TokenAtom(rb"[A-Za-z0-9._~+/=\-]", 20, 20)),
        before=7,
        rest=rb"[A-Za-z0-9._~+/=\-]",
    ),
)
"""Tokens that are recognised by more than a prefix."""

PREFIXES = tuple(prefix_rule(*rule) for rule in TOKEN_RULES)

_RUN = bytes(byte for byte in range(256) if chr(byte).isalnum() and byte < 128) + b"-_.~+/="
_LONGEST_PREFIX = max(rule.longest for rule in PREFIXES)
_LANDMARKS = frozenset(
    rule.landmark[:end] for rule in PREFIXES for end in range(1, len(rule.landmark))
)
_LONGEST_LANDMARK = max(len(rule.landmark) for rule in PREFIXES)


def beginning_of_token(buffer: bytes, start: int) -> int | None:
    """The first position from ``start`` at which an incomplete token may begin."""
    places = [place for rule in SHAPES if (place := _beginning_in(rule, buffer, start)) is not None]
    run = len(buffer.rstrip(_RUN))
    first = max(start, run, len(buffer) - _LONGEST_PREFIX)
    places += [first + place for place in _prefixes_in(buffer[first:])]
    return min(places, default=None)


def _prefixes_in(run: bytes) -> Iterator[int]:
    """Starts of incomplete tokens."""
    for length in range(min(len(run), _LONGEST_LANDMARK - 1), 0, -1):
        if run[-length:] in _LANDMARKS:
            yield len(run) - length
            break
    for rule in PREFIXES if len(run) > 2 else ():
        if rule.landmark in run and (place := _beginning_in(rule, run, 0)) is not None:
            yield place


def _beginning_in(rule: TokenRule, buffer: bytes, start: int) -> int | None:
    for place in _places(rule.landmark, buffer, max(start, len(buffer) - rule.longest)):
        if rule.beginning.match(buffer, place):
            return place
    return None


def _places(landmark: bytes, buffer: bytes, start: int) -> Iterator[int]:
    """Positions of the landmark, including a partial one at the end."""
    place = buffer.find(landmark, start)
    while place >= 0:
        yield place
        place = buffer.find(landmark, place + 1)
    for length in range(len(landmark) - 1, 0, -1) if buffer[-1:] in landmark[:-1] else ():
        if buffer.endswith(landmark[:length]) and len(buffer) - length >= start:
            yield len(buffer) - length
