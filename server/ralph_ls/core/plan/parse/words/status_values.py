"""Status values: what a ``Status:`` line, a column for states or the status of a document says.

They have words that are states only there, shares (``80 %``) and counts (``3/7 tasks``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ralph_ls.core.plan.parse.words.chinese import compile_both, in_traditional
from ralph_ls.core.plan.parse.words.section_words import PARTLY_DONE
from ralph_ls.core.plan.parse.words.state_tables import STATUS_SIGNS, STATUS_WORDS
from ralph_ls.core.plan.parse.words.state_words import (
    find_word_of,
    fold_words,
    is_tail,
    read_state,
    read_state_word,
    read_word,
    states_by_sign,
)
from ralph_ls.protocol.task_words import TaskState


@lru_cache(maxsize=512)
def read_status(value: str) -> TaskState | None:
    """Read the words of a ``Status:`` line or column, where work that was checked is done."""
    value = value.strip("*_ \t")
    counted = _COUNTED.search(value)
    if counted is not None and int(counted[1] or counted[3]) < int(counted[2] or counted[4]):
        return TaskState.IN_PROGRESS if int(counted[1] or counted[3]) else TaskState.TODO
    state = read_status_alone(value) or read_state(value)
    if state is TaskState.DONE and _AGREED.match(value) is not None:
        # Who agreed to a task did not do it.
        return next((one for one in _states_in(value) if one is not TaskState.DONE), None)
    if state is None and _CHECKED.match(value) is not None:
        return TaskState.DONE
    return TaskState.TODO if state is None and value.lstrip("` ").startswith("[ ]") else state


def read_status_alone(value: str) -> TaskState | None:
    """Read what is a state only there, and as all of it: ``live``, ``80 %``, ``80 % done``, ``📋``."""  # noqa: E501
    share = _SHARE.match(value)
    if share is not None:
        words = value[share.end() :]
        is_of_all = not words or read_word(words) is TaskState.DONE
        return _state_of_share(int(share[1])) if is_of_all else read_word(words)
    sign = _ONLY_SIGN.fullmatch(value)
    if sign is not None:
        return _STATE_OF_SIGN[sign[1]]
    folded = fold_words(value)
    found = find_word_of(_STATE_OF_WORD, folded, 0)
    return None if found is None or not is_tail(folded, found.end) else _STATE_OF_WORD[found.name]


def _state_of_share(percent: int) -> TaskState:
    if percent == _ALL:
        return TaskState.DONE
    return TaskState.IN_PROGRESS if percent else TaskState.TODO


def _states_in(value: str) -> Iterator[TaskState]:
    """The states that the parts of a status name: ``Approved, not started``."""
    for part in _PARTS.split(value):
        if (state := read_state_word(part)) is not None:
            yield state


def says_all_done(status: str) -> bool:
    """Whether the status of a document says that all of it is done, and no part of it only.

    Words for done have to say so, or a sign alone: a plan that is approved is yet to be worked on.
    """
    if read_status(status) is not TaskState.DONE or _PARTLY.search(status) is not None:
        return False
    is_alone = _ONLY_SIGN.fullmatch(status.strip("*_ \t")) is not None or _SHARE.match(status)
    return bool(is_alone) or TaskState.DONE in _states_in(status)


def says_partly_done(status: str) -> bool:
    """Whether the status of a document says that a part of it is done."""
    return PARTLY_DONE.search(status) is not None and _PARTLY.search(status) is not None


_ALL = 100
_SHARE = re.compile(r"\W*([0-9]{1,3}) ?%\+?\W*(?=\w|\Z)")
_STATE_OF_SIGN = states_by_sign(STATUS_SIGNS)
_ONLY_SIGN = re.compile(rf"[\W_]*?([{''.join(_STATE_OF_SIGN)}])[\W_]*")
_STATE_OF_WORD = {
    name: state
    for state, names in STATUS_WORDS.items()
    for word in names.split("|")
    for name in (word, in_traditional(word))
}
_CHECKED = compile_both(
    r"[\W_]*(?:(?:verified|checked|accepted|validated|tested|passed|geprüft|verifiziert|abgenommen"
    r"|akzeptiert|getestet|vérifiée?s?|validée?s?|acceptée?s?|testée?s?|verificad[oa]s?"
    r"|comprobad[oa]s?|aceptad[oa]s?|validad[oa]s?|probad[oa]s?|aceit[oa]s?|testad[oa]s?"
    r"|провер(?:ен[аоы]?)|принят[аоы]?|протестирован[аоы]?|zweryfikowan[eay]|sprawdzon[eay]"
    r"|przetestowan[eay]|zaakceptowan[eay]|geverifieerd|gecontroleerd|geaccepteerd|goedgekeurd"
    r"|getest|verificat[oaie]|controllat[oaie]|accettat[oaie]|testat[oaie]|doğrulandı|test edildi"  # noqa: RUF001
    r"|kabul edildi|kontrol edildi|đã kiểm tra|đã xác minh|đã nghiệm thu|đã duyệt|terverifikasi"
    r"|diverifikasi|diterima|teruji)(?!\w)"
    r"|已验证|已验收|已测试|已通过|验收通过|测试通过|已驗證|已驗收|検証済|確認済|検収済|テスト済"
    r"|검증됨|검증 ?완료|확인됨|확인 ?완료|승인됨|테스트 ?완료)",
    re.IGNORECASE,
)
_PARTLY = re.compile(
    r"\b(?:mvp|phases?|parts?|stages?|steps?|sprints?|milestones?|tasks?|through|until|up to|except"
    r"|but|only|partly|partially|mostly|remaining|pending|next|plan|design|spec|(?!100)[0-9]+ ?%"
    r"|[0-9]+ ?/ ?[0-9]+|[0-9]+ of)(?!\w)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?<![\w/.])([0-9]{1,4}) ?/ ?([0-9]{1,4})(?![\w/.])|\b([0-9]{1,4}) of ([0-9]{1,4})\b"
)
"""``3/7 tasks``, ``3 of 7``."""
_AGREED = compile_both(
    r"[\W_]*(?:approved|agreed|reviewed|final(?:i[sz]ed)?|signed[ -]off|on track|healthy|green\b"
    r"|low risk|(?:the )?(?:plan(?:ning)?|design|spec(?:ification)?|research|analysis|scope)\b"
    r"|freigegeben|genehmigt|aprobad[oa]|aprovad[oa]|approuvée?|утвержд[её]н\w*|zatwierdzon\w+"
    r"|approvat[oa]|onaylandı|disetujui)"  # noqa: RUF001
    r"|[\W_]*(?:承認済み|已批准|已确认|已审批)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[,;:|()\u2013\u2014]|\s-\s")
