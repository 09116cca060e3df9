"""Titles: the title, tags and id in the text of one item, and whether it is struck through.

Considers one text at a time, not its position in the plan.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from ralph_ls.core.plan.parse.words.chinese import in_both_scripts
from ralph_ls.protocol.task_words import SETTLED_STATES, Priority


class TitleParts(NamedTuple):
    """The parts of an item's text; a named tuple, because one is made for every task."""

    title: str
    """Without comments, tags, explicit id and bold marks; white space is folded."""
    explicit_id: str | None = None
    priority: Priority | None = None
    """From a tag such as ``[HIGH PRIORITY]`` or ``[P0]``."""
    is_struck: bool = False
    """The whole title is between ``~~``."""
    is_done: bool = False
    """``[DONE]``; it counts only where there is no box."""
    is_blocked: bool = False
    """``[BLOCKED]``."""
    blocked_reason: str | None = None
    """From ``[BLOCKED: reason]``."""
    is_in_progress: bool = False
    """``[IN PROGRESS]``, ``[WIP]``."""
    is_bug: bool = False
    """``[BUG]`` (docs/rules.md#plans)."""


def read_title(text: str) -> TitleParts:
    """Split the text after marker and box into parts; total, and linear in its length."""
    rest = fold_whitespace(strip_comments(text))
    return TitleParts(title=rest) if is_bare(rest) else split_title(rest)


def split_title(text: str) -> TitleParts:
    """The same for a text that is folded, without comments and not bare."""
    rest, was_struck = _strip_strike(text)
    rest, first_tags = _split_tags(_unwrap_bold(rest))
    explicit_id, rest = _split_explicit_id(rest)
    rest, later_tags = _split_tags(rest)
    rest, is_struck = _strip_strike(rest)
    tags = first_tags + later_tags
    names = [tag.upper().replace("_", " ") for tag in tags]
    return TitleParts(
        title=strip_bold(rest).strip() or explicit_id or "",
        explicit_id=explicit_id,
        priority=next((_PRIORITY_TAGS[name] for name in names if name in _PRIORITY_TAGS), None),
        is_struck=was_struck or is_struck,
        is_done=any(name in _DONE_TAGS for name in names),
        is_blocked=any(_BLOCKED_TAG.match(tag) for tag in tags),
        blocked_reason=next(filter(None, map(_read_reason, tags)), None),
        is_in_progress=any(name in _IN_PROGRESS_TAGS for name in names),
        is_bug="BUG" in names,
    )


def is_bare(text: str) -> bool:
    """Whether a text, folded and without comments, is the unchanged title."""
    return not (
        text.startswith(("[", "*", "~"))
        or text.endswith("]")
        or (text.endswith(")") and _ROUND_TAG.search(text) is not None)
        or "**" in text
        or "~~" in text
        or _EXPLICIT_ID.match(text) is not None
    )


def title_id(title: str) -> str:
    """Derive the id of a task without an explicit one (docs/rules.md#plans): 8 hex digits.

    Case, white space and the marks for bold, code and strike do not change it, and tags and the
    box are no part of a title, so a task keeps its id when it is ticked, blocked or moved.
    """
    return folded_title_id(fold_whitespace(title))


def folded_title_id(title: str) -> str:
    """The same for a title in which white space is folded, as in every one that was read."""
    normalised = title.lower()
    if "*" in normalised or "`" in normalised or "~" in normalised:
        normalised = fold_whitespace(normalised.translate(_MARKS))
    return hashlib.sha256(normalised.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def is_title_id(task_id: str, title: str) -> bool:
    """Whether an id was derived from the title, so that it is written nowhere in the plan.

    A number behind it distinguishes tasks with equal titles, a tag before it those of other lists.
    """
    own = task_id.rpartition(":")[2]
    derived = title_id(title)
    return own == derived or re.fullmatch(rf"{derived}-[0-9]+", own) is not None


def is_optional_title(text: str) -> bool:
    """Whether a title begins or ends with ``(optional)``, or has Kiro's star at its number."""
    if ("(" in text or "\uff08" in text) and _OPTIONAL.search(text) is not None:
        return True
    if "*" in text and NUMBER_WITH_STAR.match(text) is not None:
        return True
    return _SET_ASIDE.search(text) is not None


def title_number(title: str) -> str | None:
    """The number that a title begins with: ``2.1``."""
    found = _NUMBER.match(title) if title[:1].isdecimal() else None
    return None if found is None else found[1]


def is_part_by_number(whole: str, part: str) -> bool:
    """Whether the numbers of two titles say that one is a part of the other: ``2.``, ``2.1``."""
    number, inner = title_number(whole), title_number(part)
    return number is not None and inner is not None and inner.rpartition(".")[0] == number


def is_no_task(text: str) -> bool:
    """Whether an item without a box is surely no task: a date, a note, a link, "none yet".

    ``[2026-01-29]``, ``[NOTE]``, ``[v1.0]``, ``[#123]``, ``[link](url)`` open log lines and
    references, which must never be counted as work.
    """
    if not text.strip(_EDGES) or is_placeholder(text):
        return True
    if _NO_FINDINGS.fullmatch(text.strip(_EDGES).lower()) is not None:
        return True
    opening = _OPENING_BRACKET.match(text)
    if opening is None:
        return False
    if text[opening.end() : opening.end() + 1] in {"(", "[", ":"}:
        return True
    return _REFERENCE.match(opening[1].strip()) is not None


def is_placeholder(text: str) -> bool:
    """Whether a text as a whole says that there is no task: ``None yet``, ``(empty: …)``, ``...``.

    Only in brackets may a remark follow: ``No open ports in the firewall`` is a task.
    """
    bare = text.strip(_EDGES).rstrip(_STOPS).lower()
    if _DOTS.fullmatch(text.strip()) or bare in PLACEHOLDERS or _NO_WORK.fullmatch(bare):
        return True
    outside = text.strip("_* \t")
    if not (outside.startswith("(") and outside.rstrip(".").endswith(")")):
        return False
    head = _REMARK_IN_BRACKETS.split(bare, maxsplit=1)[0].strip(_EDGES)
    is_known = head in PLACEHOLDERS or _NO_WORK.fullmatch(head) is not None
    return is_known and ")" not in bare


def is_explicit_id(text: str) -> bool:
    """Whether the text is an id such as ``US-001``, and nothing else."""
    return _ONLY_ID.fullmatch(text) is not None


def fold_whitespace(text: str) -> str:
    """Replace every run of white space with one space, so that a text fits on a line."""
    return " ".join(text.split())


def escape_surrogates(text: str) -> str:
    """Replace lone surrogates, which neither JSON nor a terminal can represent, with ``?``."""
    return text.encode("utf-8", "replace").decode("utf-8")


def strip_comments(text: str) -> str:
    """Cut closed HTML comments out of one line, but not out of inline code."""
    opening = text.find("<!--")
    if opening < 0:
        return text
    kept: list[str] = []
    at = n_ticks = counted_to = 0
    while opening >= 0:
        n_ticks += text.count("`", counted_to, opening)
        counted_to = opening
        closing = text.find("-->", opening + 4)
        if closing < 0:
            break
        if n_ticks % 2 == 0:
            kept.append(text[at:opening])
            at = counted_to = closing + 3
        opening = text.find("<!--", max(at, opening + 4))
    kept.append(text[at:])
    return "".join(kept)


def strip_bold(text: str) -> str:
    """Remove the bold marks around words, also where they begin before a box; other stars stay.

    So do those in code: `` `src/**` ``.
    """
    if text.count("**") == 1:
        return _BOLD_END.sub("", text)
    return _CODE_OR_BOLD.sub(_without_bold, text) if "**" in text else text


def _without_bold(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else found[1]


_MARKS = str.maketrans("", "", "*`~")
_BOLD = re.compile(r"\*\*(\S(?:[^*]*\S)?)\*\*")
_CODE_OR_BOLD = re.compile(rf"`[^`]*`|{_BOLD.pattern}")
_BOLD_END = re.compile(r"(?<=\S)\*\*(?=[:.,]?(?:\s|\Z))")
_TAG = re.compile(r"(?:\*\*)?\[([^\[\]]+)\](?:\*\*)?(?!\():?\s*")
_ROUND_TAG = re.compile(
    r"\s*(?<=\s)\(((?:BLOCKED|WIP|IN[ -]PROGRESS)(?:\s*[:\u2013\u2014-][^()]*| by [^()]*)?)\)\Z"
)
"""``(BLOCKED - needs a key)`` at the end, in capitals."""
_LONGEST_TAG = 200
_ID = r"(?!(?:UTF|SHA|ISO|RFC)-)[A-Z][A-Z0-9]*-\d+"
_NUMBERED = r"T(?:\d{3,4}(?:\.\d{1,2}(?!\d))?|\d{1,2}-\d{1,2})[a-z]?(?![\w-])"
"""As spec-kit numbers its tasks, ``T001``, ``T001.1`` or ``T1-2``, right before the title."""
_EXPLICIT_ID = re.compile(
    rf"(?:\*\*({_ID}|{_NUMBERED})(?:\*\*:?|:\*\*)|({_ID}(?::|\Z|(?=\s+[\u2013\u2014-]\s))|{_NUMBERED}[:.]?)"
    rf"|\*\*({_ID}|{_NUMBERED}):(?=\s)|[\[`]({_NUMBERED})[\]`](?=:?\s):?)\s*(?:[-\u2013\u2014]\s+)?"
)
_ONLY_ID = re.compile(rf"{_ID}|{_NUMBERED}")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)*)[.):]?\s")
_NUMBER_STRUCK = re.compile(r"((?:\*\*)?[0-9]+(?:\.[0-9]+)*[.)]?(?:\*\*)?)\s*~~")
_STRUCK_THEN = " .-\u2013\u2014:✅✓✔☑\ufe0f"
_AFTER_STATE = re.compile(r"\s[\u2013\u2014-]|[:.,;(\u2013\u2014]")
_STRUCK_THEN_WORDS = frozenset({"", "done", "completed", "complete", "fixed"})

_PRIORITY_TAGS = {
    "HIGH PRIORITY": Priority.P0,
    "HIGH": Priority.P0,
    "CRITICAL": Priority.P0,
    "URGENT": Priority.P0,
    "P0": Priority.P0,
    "MEDIUM PRIORITY": Priority.P1,
    "MEDIUM": Priority.P1,
    "STANDARD": Priority.P1,
    "P1": Priority.P1,
    "LOW PRIORITY": Priority.P2,
    "LOW": Priority.P2,
    "NICE TO HAVE": Priority.P2,
    "P2": Priority.P2,
}
_DONE_TAGS = frozenset({"DONE", "COMPLETE", "COMPLETED"})
_TODO_TAGS = frozenset({"TODO", "TO-DO", "PENDING"})
_IN_PROGRESS_TAGS = frozenset({"IN PROGRESS", "IN-PROGRESS", "WIP"})
_BLOCKED_TAG = re.compile(r"blocked(?:[ :\u2013\u2014-]+(?:by\b[ :]*)?(.*))?\Z", re.IGNORECASE)

_OPENING_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_REFERENCE = re.compile(
    r"(?:\d|v\d|#\d|(?:note|info|tip|warning|caution|important|example|fyi|nb)\b)", re.IGNORECASE
)
_DOTS = re.compile(r"\.{2,}|\u2026+")
_EDGES = "_*()[]. \t"
_STOPS = "!.\u3002"
_NOW = (
    r"(?: (?:yet|currently|now|today|here|left|remaining|open|outstanding|pending|planned|scheduled"
    r"|known|found|so far|for now|right now|at (?:the|this) (?:moment|time|point)|at present))*"
)
_ADJECTIVES = (
    r"(?:(?:open|pending|remaining|outstanding|current|active|known|new|further|more|other|urgent"
    r"|additional|blocked|planned|unfinished|incomplete|completed) )*"
)
_NO_WORK = re.compile(
    rf"none{_NOW}|nothing(?: left)?(?: to (?:do|fix))?{_NOW}"
    rf"|(?:there (?:is|are) )?(?:currently )?no {_ADJECTIVES}"
    rf"(?:tasks?|todos?|to-dos?|items?|action items?|fixes|work|entries|stories|steps){_NOW}"
)
OPTIONAL_WORDS = in_both_scripts(
    r"optional|可选|选做|任意|선택|optionnel|facultatif|opcional|опционально|необязательно"
    r"|необов'язково|opcjonalne|opcjonalnie|optioneel|facoltativo|opzionale|opsional"
    r"|isteğe bağlı|tùy chọn"  # noqa: RUF001
    r"|deferred|postponed|later|nice to have|nice-to-have|stretch|stretch goal|post-mvp"
    r"|延期|推迟|暂缓|以后|後で|나중에|보류|später|zurückgestellt|plus tard|reporté"
    r"|más adelante|aplazado|mais tarde|adiado|позже|отложено|później|odłożone|uitgesteld"
    r"|più tardi|rimandato|nanti|ditunda|sonra|ertelendi|để sau|пізніше|відкладено"
    r"|skipped|not applicable|n/a|not needed|no longer needed|not required|cancelled|canceled"
    r"|dropped|obsolete|superseded|out of scope|won't do|wont do|不适用|不需要|該当なし|対象外"
    r"|해당 없음"
    r"|entfällt|nicht nötig|sans objet|no aplica|não se aplica|не требуется|nie dotyczy"
)
"""What makes a task optional in brackets at either end of its title, as a pattern."""
_OPTIONAL = re.compile(
    rf"\A[^\w(]*(?:T?[0-9]+(?:\.[0-9]+)*[a-z.)]?[^\w(]*(?:\[(?:P|US[0-9]+)\]\s*)*)?"
    rf"[(\uff08](?:{OPTIONAL_WORDS})[)\uff09]"
    rf"|[(\uff08](?:{OPTIONAL_WORDS})(?:(?:\s*[:;,\u2013\u2014\uff0c\uff1a\u3001-]|\sfor\s)[^()]*)?"
    r"[)\uff09][^\w(]*\Z",
    re.IGNORECASE,
)
_NO_FINDINGS = re.compile(
    rf"no {_ADJECTIVES}(?:bugs?|issues?|problems?|blockers?|questions?|errors?|findings?|defects?"
    rf"|risks?|notes?|decisions?){_NOW}"
)
"""With a box these may be criteria: ``- [ ] No open issues``."""
WORDS_SET_ASIDE = (
    *("DEFERRED", "SKIPPED", "POSTPONED", "CANCELLED", "CANCELED", "OBSOLETE", "DESCOPED"),
    *("OUT OF SCOPE", "NOT NEEDED", "NOT APPLICABLE", "OPTIONAL", "WON'T DO", "N/A"),
)
_SET_ASIDE = re.compile(
    rf"(?:\s(?:--?|[\u2013\u2014])\s\**|:\s\**|\*\*|\[|\A)(?:{'|'.join(WORDS_SET_ASIDE)})"
    r"(?=[\s\]*:.,;(\u2013\u2014]|\Z)"
)
"""In capitals behind a dash, in bold or in square brackets: ``… - DEFERRED``."""
NUMBER_WITH_STAR = re.compile(r"[0-9]+(?:\.[0-9]+)*[.)]?\\?\*(?=\s)")
"""``2.7* Write more tests``: a star that some put behind the number instead of the box."""
_REMARK_IN_BRACKETS = re.compile(r"\s*[:;,\u2013\u2014\uff1a]\s*|\.\s+|\s--?\s")
PLACEHOLDERS = frozenset(
    {"none", "none yet", "nothing", "nothing yet", "n/a", "tbd", "tba", "empty", "no tasks"}
    | {
        "无",
        "無",
        "暂无",
        "暂无任务",
        "暂无待办",
        "暂无内容",
        "无任务",
        "無任務",
        "没有",
        "没有任务",
    }
    | {
        "空",
        "目前没有",
        "暂时没有",
        "没有待办",
        "なし",
        "タスクなし",
        "特になし",
        "現在なし",
        "該当なし",
    }
    | {"今のところなし", "없음", "현재 없음", "아직 없음", "해당 없음", "작업 없음", "할 일 없음"}
    | {"keine", "keine aufgaben", "keine offenen aufgaben", "keine offenen punkte", "noch keine"}
    | {"derzeit keine", "aktuell keine", "zurzeit keine", "nichts", "noch nichts"}
    | {"nichts offen", "nichts zu tun", "aucun", "aucune", "aucune tâche", "aucune tâche en cours"}
    | {"aucune pour le moment", "aucun pour le moment", "aucune pour l'instant"}
    | {"aucun pour l'instant", "ninguno", "ninguna"}
    | {"ninguno por ahora", "ninguna por ahora", "sin tareas", "sin tareas pendientes", "nada"}
    | {"nada pendiente", "nada por hacer", "no hay tareas", "no hay tareas pendientes", "nenhum"}
    | {"nenhuma", "nenhuma tarefa", "nenhum por enquanto", "nenhuma por enquanto", "sem tarefas"}
    | {"sem tarefas pendentes", "nada a fazer", "não há tarefas", "нет", "нет задач", "пока нет"}
    | {"задач нет", "нет открытых задач", "нет активных задач", "пусто", "пока пусто", "ничего"}
    | {"пока ничего", "brak", "brak zadań", "brak otwartych zadań", "na razie brak"}
    | {"nic", "nic do zrobienia", "geen", "geen taken", "geen open taken", "nog geen"}
    | {"niets", "niets te doen", "nog niets", "nessuno", "nessuna", "niente"}
    | {"nessuna attività", "nessun compito", "niente da fare", "nulla", "nulla da fare"}
    | {"tidak ada", "belum ada", "tidak ada tugas", "belum ada tugas", "kosong", "yok", "boş"}
    | {"görev yok", "şu an yok", "không có", "chưa có", "không có nhiệm vụ", "trống"}
    | {"chưa có nhiệm vụ", "немає", "нема", "поки немає", "немає завдань", "завдань немає"}
    | {"немає відкритих завдань", "порожньо", "поки порожньо", "нічого", "поки нічого"}
)
_BEGINNINGS = PLACEHOLDERS | {"no ", "currently ", "there "}
PLACEHOLDER_BEGINNINGS = tuple(
    sorted(
        begin
        for begin in _BEGINNINGS
        if not any(begin != other and begin.startswith(other) for other in _BEGINNINGS)
    )
)
"""How every placeholder begins, behind brackets and marks."""


def _strip_strike(text: str) -> tuple[str, bool]:
    """Unwrap ``~~title~~``; a word for done or a remark in brackets or behind a dash may follow.

    A number in front stays: ``2.1 ~~Parse~~``. ``~~Use Redis~~ Use Postgres`` is a correction, not
    a finished task.
    """
    number = _NUMBER_STRUCK.match(text)
    begin = 2 if number is None else number.end()
    closing = text.find("~~", begin) if number is not None or text.startswith("~~") else -1
    struck = text[begin:closing].strip()
    if closing < 0 or not struck:
        return text, False
    # Its patterns take long to compile, and few titles are struck out.
    from ralph_ls.core.plan.parse.words.state_words import is_done_word, read_word

    rest = text[closing + 2 :]
    follows = rest.strip(_STRUCK_THEN)
    is_remark = follows.startswith("(") and follows.endswith(")")
    is_remark = is_remark or rest.startswith((" \u2014 ", " \u2013 ", " -- "))
    words = _AFTER_STATE.split(follows.replace("**", ""), maxsplit=1)[0].strip()
    is_done = words.lower() in _STRUCK_THEN_WORDS or is_done_word(words)
    is_done = is_done or (follows.startswith("**") and read_word(words) in SETTLED_STATES)
    if not is_remark and not is_done:
        return text, False
    return struck if number is None else f"{number[1].replace('**', '')} {struck}", True


def without_half_bold(text: str) -> str:
    """A text that was cut, without a mark for bold that has lost the other one."""
    bare = text.rstrip()
    if bare.count("**") % 2 == 0:
        return text
    return bare[:-2].rstrip() if bare.endswith("**") else bare.replace("**", "", 1)


def _unwrap_bold(text: str) -> str:
    """Unwrap a text that is bold as a whole."""
    wrapped = _BOLD.fullmatch(text)
    return text if wrapped is None else wrapped[1]


def _split_tags(text: str) -> tuple[str, list[str]]:
    """Split known tags off both ends; an unknown one is part of the title."""
    tags: list[str] = []
    start, end = 0, len(text)
    while (found := _TAG.match(text, start)) is not None and _is_known(found[1].strip()):
        tags.append(found[1].strip())
        start = found.end()
    remark = None
    if text.endswith(")"):
        remark = _ROUND_TAG.search(text, max(end - _LONGEST_TAG, start))
    if remark is not None:
        tags.append(remark[1])
        end = remark.start()
    while end > start and text[end - 1] == "]":
        opening = text.rfind("[", start, end)
        tag = text[opening + 1 : end - 1].strip()
        if opening < 0 or not _is_known(tag):
            break
        tags.append(tag)
        end = opening
        while end > start and text[end - 1] == " ":
            end -= 1
    return text[start:end], tags


def _is_known(tag: str) -> bool:
    name = tag.upper().replace("_", " ")
    return (
        name == "BUG"
        or name in _PRIORITY_TAGS
        or name in _DONE_TAGS
        or name in _IN_PROGRESS_TAGS
        or name in _TODO_TAGS
        or _BLOCKED_TAG.match(tag) is not None
    )


def _read_reason(tag: str) -> str | None:
    found = _BLOCKED_TAG.match(tag)
    return None if found is None else found[1]


def _split_explicit_id(text: str) -> tuple[str | None, str]:
    """Split ``**US-001**``, ``US-001:``, ``[T001]`` or that of ``**US-001: title**`` off."""
    found = _EXPLICIT_ID.match(text)
    if found is None:
        return None, text
    rest = text[found.end() :]
    if found[3] is not None:
        return found[3], "**" + rest
    return found[1] or found[4] or found[2].rstrip(":."), rest
