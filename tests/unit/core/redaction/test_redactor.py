from __future__ import annotations

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.redaction.known_secrets import room_for
from ralph_ls.core.redaction.redactor import Redactor, StreamRedactor, secrets_of

KEY = "sk-live-0123456789abcdef"
ENVIRONMENT = {
    "OPENAI_API_KEY": KEY,
    "DB_PASSWORD": "correct horse battery",
    "short_token": "abc",
    "deploy_Token": "tok-12345",
    "PATH": "/usr/bin:/bin:/opt/tools",
    "CLIENT_SECRET": "correct horse",
}


def redact(text: str, **secrets: str) -> str:
    return Redactor(secrets).redact(text)


def stream(redactor: Redactor, chunks: list[bytes]) -> bytes:
    stream_redactor = StreamRedactor(redactor)
    return b"".join(map(stream_redactor.feed, chunks)) + stream_redactor.finish()


def test_secrets_are_long_values_of_variables_with_a_telling_name() -> None:
    assert secrets_of(ENVIRONMENT) == {
        "OPENAI_API_KEY": KEY,
        "DB_PASSWORD": "correct horse battery",
        "deploy_Token": "tok-12345",
        "CLIENT_SECRET": "correct horse",
    }


def test_white_space_around_a_value_is_no_part_of_the_secret() -> None:
    assert secrets_of({"A_KEY": "  0123456789a\n", "B_KEY": "  abc      \n"}) == {
        "A_KEY": "0123456789a"
    }


def test_a_secret_is_replaced_by_the_name_of_its_variable() -> None:
    text = f"Authorization: Bearer {KEY}\npassword=correct horse battery staple\n"
    assert Redactor(secrets_of(ENVIRONMENT)).redact(text) == (
        "Authorization: Bearer [redacted OPENAI_API_KEY]\npassword=[redacted DB_PASSWORD] staple\n"
    )


def test_the_longest_secret_wins_over_one_it_holds() -> None:
    secrets = {"A_KEY": "12345678", "B_KEY": "1234567890"}
    assert redact("1234567890 12345678", **secrets) == "[redacted B_KEY] [redacted A_KEY]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("sk-abcdefgh12345678", "[redacted sk]", id="sk"),
        pytest.param("key: sk-proj_a-b-c_d-e-f-g.", "key: [redacted sk].", id="sk-with-dashes"),
        pytest.param(
            r'{"t":"a\nsk-abcdefgh12345678"}', r'{"t":"a\n[redacted sk]"}', id="json-escape"
        ),
        pytest.param(
            "\x1b[31msk-abcdefgh12345678\x1b[0m",
            "\x1b[31m[redacted sk]\x1b[0m",
            id="after-a-colour",
        ),
        pytest.param("\x1b[msk-abcdefgh12345678", "\x1b[m[redacted sk]", id="after-a-reset"),
        pytest.param("ghp_0123456789abcdef", "[redacted ghp]", id="ghp"),
        pytest.param("x=github_pat_11ABC_def01234567", "x=[redacted github_pat]", id="github-pat"),
        pytest.param("xoxb-123-456-abc", "[redacted xoxb]", id="xoxb"),
        pytest.param("xoxp-123-456-abc", "[redacted xoxp]", id="xoxp"),
        pytest.param("AKIAIOSFODNN7EXAMPLE!", "[redacted AKIA]!", id="akia"),
        pytest.param(f"sk-{16 * 'a'} sk-{16 * 'b'}", "[redacted sk] [redacted sk]", id="twice"),
        pytest.param("task-0123456789", "task-0123456789", id="a-word-with-sk"),
        pytest.param("disk-usage-of-home", "disk-usage-of-home", id="another-word-with-sk"),
        pytest.param("the prefix sk- or ghp_ or AKIA", "the prefix sk- or ghp_ or AKIA", id="bare"),
        pytest.param("import sk-learn", "import sk-learn", id="too-short"),
        pytest.param("xoxo, with love", "xoxo, with love", id="kisses"),
    ],
)
def test_known_prefixes_are_redacted_and_words_are_not(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert stream(Redactor({}), [bytes([byte]) for byte in text.encode()]) == expected.encode()


def test_a_named_secret_is_called_by_its_name_also_when_it_has_a_known_prefix() -> None:
    assert redact(f"<{KEY}>", OPENAI_API_KEY=KEY) == "<[redacted OPENAI_API_KEY]>"


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_secret_is_found_as_json_writes_it(ensure_ascii: bool) -> None:
    secret = 'line one\n"quoted" zwölf\\'
    line = json.dumps({"text": f"it is {secret}!"}, ensure_ascii=ensure_ascii)
    assert redact(line, PRIVATE_KEY=secret) == '{"text": "it is [redacted PRIVATE_KEY]!"}'


def test_a_value_that_is_no_unicode_is_found_by_its_bytes() -> None:
    redactor = Redactor({"A_KEY": b"caf\xe9 0123".decode("utf-8", "surrogateescape")})
    assert redactor.redact_bytes(b"<caf\xe9 0123>") == b"<[redacted A_KEY]>"


def test_a_lone_surrogate_in_secret_or_text_does_no_harm() -> None:
    assert redact("a\ud800b 12345\ud800678", A_KEY="12345\ud800678") == "a\ud800b [redacted A_KEY]"


def test_bytes_without_a_secret_come_back_as_they_are() -> None:
    data = b"nothing here"
    assert Redactor({"A_KEY": "0123456789"}).redact_bytes(data) is data
    assert redact("nothing here") == "nothing here"


def test_an_empty_value_is_no_secret() -> None:
    assert redact("nothing here", A_KEY="") == "nothing here"


def test_a_redactor_never_shows_what_it_hides() -> None:
    assert KEY not in repr(Redactor({"A_KEY": KEY}))


def test_a_stream_holds_back_only_what_may_begin_a_secret() -> None:
    stream_redactor = StreamRedactor(Redactor({"A_KEY": "zyxwvuts"}))
    assert stream_redactor.feed(b"a line\n") == b"a line\n"
    assert stream_redactor.feed(b"more zyxw") == b"more "
    assert stream_redactor.feed(b"vut") == b""
    assert stream_redactor.feed(b"X") == b"zyxwvutX"
    assert stream_redactor.feed(b"zy") == b""
    assert stream_redactor.finish() == b"zy"
    assert stream_redactor.finish() == b""


def test_a_token_without_an_end_is_dropped_as_it_comes() -> None:
    stream_redactor = StreamRedactor(Redactor({}))
    assert stream_redactor.feed(b"see sk-" + b"a" * 100) == b"see [redacted sk]"
    for _ in range(100):
        assert stream_redactor.feed(b"b" * 10_000) == b""
    assert stream_redactor.feed(b"") == b""
    assert stream_redactor._held == b""
    assert stream_redactor.feed(b"bb, and so on.") == b", and so on."
    assert stream_redactor.finish() == b""


def test_a_longer_secret_may_still_follow_where_a_shorter_one_is_complete() -> None:
    redactor = Redactor({"A_KEY": "12345678", "B_KEY": "1234567890"})
    assert stream(redactor, [b"12345678", b"90 "]) == b"[redacted B_KEY] "
    assert stream(redactor, [b"12345678", b"X"]) == b"[redacted A_KEY]X"


def test_what_follows_a_secret_may_begin_another() -> None:
    redactor = Redactor({"A_KEY": "abcdabcd", "B_KEY": "cdXXXXXX"})
    assert stream(redactor, [b"abcdabcd", b"XXXXXX abcdab", b"cdXXXXXX"]) == (
        b"[redacted A_KEY]XXXXXX [redacted A_KEY]XXXXXX"
    )


FRAGMENTS = st.sampled_from(
    [
        *(b"s k - _ g h p x o b A K I a 1 m \n \\n \x1b[1m".split(b" ")),
        *(b"sk- ghp_ github_pat_ xoxb- AKIA task- abcdef 012345678 ABCDEFGH".split(b" ")),
        *(KEY.encode(), KEY.encode()[:9], KEY.encode()[9:], b"aaaabaaaab", b"aaaab", b"aab"),
        *("日本".encode(), "日".encode()[:1], b"\x00", b"\xff", b" "),
        *(
            b"\n",
            b"\r\n",
            b"\t",
            b"\\",
            b"\\n",
            b"\\r\\n",
            b"\\u001b[3",
            b"\x1b[",
            b"\x1b[31m",
            b"1m",
        ),
        *(b"a b c d e f g h".split(b"g")[0], b"nnrr", b"\\n\\nab", b"n", b"r", b"%2B", b"%2b%2f"),
        *(KEY.encode().hex().encode()[:19], KEY.encode().hex().encode()[19:]),
        *(base64.b64encode(b"x" + KEY.encode())[:9], base64.b64encode(b"x" + KEY.encode())[9:]),
        *(
            b"://u:",
            b"pass",
            b"word@",
            b"@h",
            b"eyJhbGciOiJIUzI1",
            b".eyJzdWIiOiIx",
            b".dozjgNryP4J",
        ),
        *(b"-----BEGIN ", b"RSA PRIVATE KEY-----", b"DEK-Info: AES-128-CBC,A", b"MIIEpAIBAAKCAQEA"),
        *(b"Bearer ", b"glpat-", b"-----END", b"AIza", b"hooks.slack.com/services/"),
    ]
)
SECRETS = st.sampled_from(
    [
        {},
        {"A_KEY": KEY},
        {"A_KEY": "aaaabaaaab", "B_KEY": "aabaaaabaaaa", "C_KEY": "aaaaaaaa"},
        {"A_KEY": "日本日本日本日本", "B_KEY": "sk-abcdef", "C_KEY": "sk-abcdef012345678"},
        {"A_KEY": "nnrr\\n\\nab", "B_KEY": "a b\nc d e\tf g h", "C_KEY": "%+/?% ü%+/?"},
    ]
)


@given(SECRETS, st.lists(st.lists(FRAGMENTS, max_size=6).map(b"".join), max_size=12))
@example({"A_KEY": "aaaaaaaab", "B_KEY": "aaaaaaac"}, [b"aaaaaaaa", b"aac"])
def test_any_chunking_gives_the_output_of_the_whole(
    secrets: dict[str, str], chunks: list[bytes]
) -> None:
    redactor = Redactor(secrets)
    whole = b"".join(chunks)
    expected = redactor.redact_bytes(whole)
    assert stream(redactor, chunks) == expected
    assert stream(redactor, [whole]) == expected
    assert stream(redactor, [whole[at : at + 1] for at in range(len(whole))]) == expected


@given(st.lists(FRAGMENTS, max_size=30).map(b"".join), SECRETS)
def test_no_secret_is_left_and_little_is_held(data: bytes, secrets: dict[str, str]) -> None:
    redactor = Redactor(secrets)
    stream_redactor = StreamRedactor(redactor)
    longest = max([5000, *(room_for(len(form)) for form in redactor.needles.labels)])
    written = bytearray()
    for at in range(0, len(data), 7):
        written += stream_redactor.feed(data[at : at + 7])
        assert len(stream_redactor._held) <= longest
    written += stream_redactor.finish()
    assert not any(secret.encode() in written for secret in secrets.values())


@given(st.text(), st.text(min_size=8))
def test_text_and_bytes_are_redacted_alike(text: str, secret: str) -> None:
    redactor = Redactor({"A_KEY": secret})
    whole = f"{text}{secret}{text}"
    assert redactor.redact(whole).encode() == redactor.redact_bytes(whole.encode())
