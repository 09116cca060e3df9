"""State words: the words and signs of states where a plan has no box, in fifteen languages.

They are in ``Status:`` lines, in columns of tables, behind the words of an item and in headings
such as ``### 1.1 🟢 Parser``. A word has precedence over a sign; unknown words give no state. A
sign with two meanings is read as the one that leaves work to do, because a task that is missed ends
a run too early.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from unicodedata import category

from ralph_ls.protocol.task_words import TaskState


def read_state(text: str) -> TaskState | None:
    """Read ``In progress (80 %)``, ``✅ Done``, ``**Blocked** on a key``; None for the rest.

    Of several boxes the ticked one counts: ``[ ] Not started [x] Done``.
    """
    ticked = _TICKED.search(text)
    if ticked is not None:
        return _read_word(text[ticked.end() :]) or TaskState.DONE
    state = _read_word(text)
    if state is not None:
        return state
    found = _SIGN.search(text)
    if found is not None:
        return _STATE_OF_SIGN[found[1]]
    return TaskState.TODO if _OPEN_BOX.fullmatch(text) is not None else None


def find_sign(text: str) -> tuple[int, int] | None:
    """Find the first emoji for a state anywhere in a heading."""
    found = _SIGN.search(text)
    return None if found is None else found.span()


def find_remark(text: str) -> tuple[int, int] | None:
    """Find a remark in brackets that begins with such an emoji: ``(✅ Complete)``."""
    found = _REMARK.search(text)
    return None if found is None else found.span()


def opening_sign(text: str) -> tuple[int, int] | None:
    """Find an emoji for a state at the beginning of an item."""
    found = _SIGN.match(text)
    return None if found is None else found.span()


def has_ornament(heading: str) -> bool:
    """Whether a heading begins with an emoji that is no state."""
    first = heading.lstrip(" \t*_")[:1]
    return category(first or " ") == "So" and _SIGN.match(first) is None


def opening_remark(text: str) -> tuple[TaskState, int] | None:
    """Find ``Done: …`` at the beginning of an item: the state, and where its text begins.

    A colon in a tag or apart from it makes none: ``[BLOCKED: no key] Parse``, ``[DONE] :1``.
    """
    found = _OPENING.match(text)
    if found is None or not _is_only_words(found[1]):
        return None
    if found[1][0] in "([" and _IN_BRACKETS.fullmatch(found[1]) is None:
        return None
    state = read_state(found[1])
    return None if state is None or state is TaskState.TODO else (state, found.end())


class StateRemark(NamedTuple):
    """A state behind the words that it is about."""

    start: int
    """Where it begins, with the white space and the dash before it."""
    state: TaskState


def closing_remark(text: str) -> StateRemark | None:
    """Find ``(COMPLETED)``, ``- Done``, ``: ✅`` or a sign at the end, and nothing else.

    Behind bold words a sign or a word in brackets may have more text behind it:
    ``**Parser.** ✅ With tests.``, ``**Parser** (done, in May): with tests``.
    """
    if (bold := _BOLD_THEN_SIGN.match(text)) is not None and not is_of_one_stage(text):
        return StateRemark(bold.end(1), _STATE_OF_SIGN[bold[2]])
    bold = _BOLD_THEN_WORD.match(text)
    if bold is not None and _is_only_words(bold[2]):
        state = read_state(bold[2])
        return None if state is None else StateRemark(bold.end(1), state)
    skipped = max(len(text) - _LONGEST_REMARK, 0)
    found = _CLOSING.search(text, skipped)
    if found is None or is_of_one_stage(text) or text.count("`", 0, found.start()) % 2:
        return None
    state = _state_behind(next(part for part in found.groups() if part is not None))
    if state is None and found[1] is not None:
        state = _state_among(found[1])
    if state is None:
        return None if found[1] is None else _remark_before(text, found.start())
    return StateRemark(found.start(), state)


def bold_remark(heading: str) -> StateRemark | None:
    """Find ``**DONE**`` at the end of a heading: a state in bold that has a capital or no case."""
    found = _BOLD_AT_END.search(heading)
    if found is None or found[1][0].islower() or not _is_only_words(found[1]):
        return None
    state = read_state(found[1])
    return None if state is None else StateRemark(found.start(), state)


def _remark_before(text: str, end: int) -> StateRemark | None:
    """``Parser — DONE (PR 4)``: a state with a note in brackets behind it."""
    found = _BEFORE_NOTE.search(text, max(end - _LONGEST_PART, 0), end)
    if found is None or not _is_only_words(found[1]):
        return None
    state = read_state(found[1])
    return None if state is TaskState.TODO or state is None else StateRemark(found.start(), state)


def _state_behind(words: str) -> TaskState | None:
    share = _SHARE.search(words)
    bare = _DETAIL.sub("", words)
    if _DONE_BEHIND.search(bare) is not None:
        return TaskState.DONE
    if _words().match(_fold(bare)) is not None and not _is_only_words(bare):
        return None
    if _read_word(bare) is None and _SIGN_AT_EDGE.search(bare.strip()) is None:
        return None
    if share is not None:
        return _read_word(f"{bare} {share[0]}") or read_state(words)
    return read_state(bare)


def _state_among(words: str) -> TaskState | None:
    """The state in ``L, done`` or ``done; 2 days``: beside it are only short remarks."""
    parts = [part.strip() for part in _PARTS.split(words)]
    if max(map(len, parts)) > _LONGEST_PART:
        return None
    return next((read_state(part) for part in parts if _is_only_words(part)), None)


def _is_only_words(text: str) -> bool:
    return _only_words().fullmatch(_fold(text)) is not None


def box_mark(content: str) -> str:
    """What the content of a box means in the usual marks: ``x`` for ``✅``, ``~`` for ``⏳``."""
    bare = content.strip("\ufe0f \t")
    return _MARK_OF_STATE.get(_STATE_OF_SIGN.get(bare, TaskState.SKIPPED), bare)


def is_of_one_stage(text: str) -> bool:
    """Whether a text says that something is planned or designed, which is not yet done."""
    return _STAGE.search(text) is not None


def is_done_word(text: str) -> bool:
    """Whether a text is a word for done, and nothing else."""
    return read_state_word(text) is TaskState.DONE


def read_state_word(text: str) -> TaskState | None:
    """The state that a text names, if it is a word for one and nothing else."""
    return read_state(text) if _is_only_words(text) else None


def word_like(old: str, word: str, state: TaskState) -> str:
    """The word for a state in the language of another state's word; ``word`` in English."""
    found = _words().match(_fold(old))
    language = "" if found is None else _LANGUAGE_OF_WORD[_spaced(found[1])]
    return word if language in {"", "English"} else STATE_WORDS[language][state].partition("|")[0]


_DONE, _BEGUN, _TODO = TaskState.DONE, TaskState.IN_PROGRESS, TaskState.TODO
_BLOCKED, _SKIPPED = TaskState.BLOCKED, TaskState.SKIPPED

STATE_WORDS: Mapping[str, Mapping[TaskState, str]] = {
    "English": {
        _DONE: "complete|completed|done|finished|implemented|closed|merged|shipped|resolved|"
        "deployed|released|yes",
        _BEGUN: "in progress|active|underway|wip|started|mostly|almost|nearly|ongoing|partial|"
        "partially|doing|in development|in review|under review",
        _TODO: "todo|to do|not|open|pending|planned|ready|incomplete|backlog|no|upcoming|next",
        _BLOCKED: "blocked|on hold|waiting",
        _SKIPPED: "skipped|deferred|cancelled|canceled|obsolete|wont do|superseded|"
        "reverted|abandoned|dropped|rejected|duplicate|wont fix|wontfix|not planned|"
        "postponed|parked",
    },
    "Chinese": {
        _DONE: "已完成|完成|已实现|已修复|已解决|已上线|已实施|已關閉|已关闭|全部完成"
        "|已實現|已修復|已解決|已上線|已實施",
        _BEGUN: "进行中|開發中|开发中|处理中|部分完成|实施中|正在进行|已开始",
        _TODO: "未开始|未完成|待办|待开始|待处理|待开发|待实现|待完成|计划中|规划中|未实现|待定"
        "|未開始|待辦|待開始|待處理|待開發|待實現|計劃中|規劃中|未實現",
        _BLOCKED: "已阻塞|阻塞|受阻|已暂停|暂停|搁置",
        _SKIPPED: "已取消|取消|已跳过|跳过|已放弃|推迟|延期|暂缓|不做",
    },
    "Japanese": {
        _DONE: "完了|完了済み|済み|済|実装済み|対応済み|解決済み",
        _BEGUN: "進行中|作業中|対応中|着手中|実装中|一部完了|着手済み",
        _TODO: "未着手|未完了|未対応|未実装|予定|完了予定|実装予定|未定|計画中",
        _BLOCKED: "ブロック中|ブロック|保留中|保留",
        _SKIPPED: "中止|スキップ|見送り|延期|キャンセル|対象外",
    },
    "Korean": {
        _DONE: "완료|완료됨|완료함|구현 완료|구현완료|해결|해결됨",
        _BEGUN: "진행 중|진행중|작업 중|작업중|개발 중|개발중|일부 완료",
        _TODO: "대기|대기 중|대기중|예정|미완료|미착수|미구현|시작 전|시작전|할 일|계획",
        _BLOCKED: "차단됨|차단|보류|막힘",
        _SKIPPED: "취소됨|취소|건너뜀|연기|제외",
    },
    "German": {
        _DONE: "erledigt|fertig|abgeschlossen|umgesetzt|fertiggestellt|behoben|implementiert|ja",
        _BEGUN: "in arbeit|in bearbeitung|begonnen|angefangen|laufend|läuft|teilweise",
        _TODO: "offen|geplant|ausstehend|nicht|noch nicht|zu tun|unerledigt|nein",
        _BLOCKED: "blockiert|wartet|pausiert",
        _SKIPPED: "übersprungen|verworfen|zurückgestellt|abgebrochen|entfällt|verschoben",
    },
    "French": {
        _DONE: "terminé|terminée|terminés|terminées|fait|faite|achevé|achevée|fini|finie|complété|"
        "complétée|livré|livrée|réalisé|réalisée|implémenté|implémentée|oui",
        _BEGUN: "en cours|commencé|commencée|partiel|partielle|partiellement",
        _TODO: "à faire|a faire|non|pas|à venir|en attente|prévu|prévue|planifié|planifiée|ouvert",
        _BLOCKED: "bloqué|bloquée|en pause",
        _SKIPPED: "annulé|annulée|abandonné|abandonnée|reporté|reportée|ignoré",
    },
    "Spanish": {
        _DONE: "completado|completada|completo|completa|hecho|hecha|terminado|terminada|finalizado|"
        "finalizada|listo|lista|implementado|implementada|resuelto|resuelta|cerrado|sí",
        _BEGUN: "en progreso|en curso|en proceso|en desarrollo|iniciado|iniciada|parcial|empezado",
        _TODO: "pendiente|por hacer|sin empezar|sin iniciar|planificado|planificada|abierto|por",
        _BLOCKED: "bloqueado|bloqueada|en espera|en pausa",
        _SKIPPED: "omitido|omitida|cancelado|cancelada|descartado|aplazado|pospuesto",
    },
    "Portuguese": {
        _DONE: "concluído|concluída|concluido|concluida|feito|feita|pronto|pronta|entregue|sim",
        _BEGUN: "em andamento|em progresso|em curso|em desenvolvimento|iniciada|parcialmente",
        _TODO: "pendente|a fazer|não|nao|por fazer|planejado|planejada|planeado|aberto|aberta",
        _BLOCKED: "bloqueado|bloqueada|em espera|em pausa",
        _SKIPPED: "adiado|adiada|ignorado|ignorada|descartada|omitida",
    },
    "Russian": {
        _DONE: "выполнено|выполнен|выполнена|выполнены|готово|готов|готова|завершено|завершён|"
        "завершен|завершена|завершены|сделано|сделана|реализовано|реализован|реализована|"
        "исправлено|закрыто|закрыт|закрыта|решено|да",
        _BEGUN: "в работе|в процессе|в разработке|выполняется|начато|начат|начата|частично|"
        "делается|делаю",
        _TODO: "не начато|не|нет|к выполнению|запланировано|запланирована|планируется|ожидает|"
        "открыто|открыт|открыта|нужно|новая|сделать",
        _BLOCKED: "заблокировано|заблокирован|заблокирована|приостановлено|приостановлена|на паузе",
        _SKIPPED: "отменено|отменён|отменен|отменена|отложено|отложен|отложена|пропущено|пропущена|"
        "отклонено|отклонена",
    },
    "Polish": {
        _DONE: "zakończone|zakończony|zakończona|zrobione|gotowe|gotowy|gotowa|ukończone|ukończony|"
        "ukończona|wykonane|wykonany|wykonana|wdrożone|zrealizowane|naprawione|zamknięte|tak",
        _BEGUN: "w trakcie|w toku|w realizacji|rozpoczęte|rozpoczęty|rozpoczęta|częściowo|trwa",
        _TODO: "do zrobienia|nie|nierozpoczęte|niezrobione|zaplanowane|planowane|oczekujące|"
        "oczekuje|otwarte|otwarty|otwarta|nowe",
        _BLOCKED: "zablokowane|zablokowany|zablokowana|wstrzymane|wstrzymany|czeka",
        _SKIPPED: "pominięte|pominięty|anulowane|anulowany|odrzucone|odrzucony|odłożone|przełożone",
    },
    "Dutch": {
        _DONE: "klaar|gedaan|voltooid|afgerond|gereed|opgelost|geïmplementeerd|gesloten",
        _BEGUN: "mee bezig|bezig|in uitvoering|in behandeling|gestart|begonnen|lopend|gedeeltelijk|"
        "deels",
        _TODO: "te doen|niet|nog niet|nog te doen|gepland|openstaand|nee|nieuw",
        _BLOCKED: "geblokkeerd|wacht|wachtend|gepauzeerd",
        _SKIPPED: "overgeslagen|geannuleerd|uitgesteld|vervallen|afgewezen",
    },
    "Italian": {
        _DONE: "completato|completata|fatto|fatta|finito|finita|implementato|implementata|risolto",
        _BEGUN: "in corso|in lavorazione|iniziato|iniziata|parziale|parzialmente",
        _TODO: "da fare|da completare|da iniziare|pianificato|pianificata|aperto|aperta|in attesa",
        _BLOCKED: "bloccato|bloccata|sospeso|sospesa",
        _SKIPPED: "saltato|annullato|annullata|rimandato|rimandata|rinviato|scartato",
    },
    "Indonesian": {
        _DONE: "selesai|sudah selesai|sudah|telah selesai",
        _BEGUN: "sedang dikerjakan|dalam proses|berjalan|sebagian",
        _TODO: "belum|belum dimulai|belum selesai|akan datang|direncanakan|akan dikerjakan",
        _BLOCKED: "terblokir|terhambat",
        _SKIPPED: "dibatalkan|dilewati|ditunda|batal",
    },
    "Turkish": {
        _DONE: "bitti|tamamlandı|tamamlandi|yapıldı|yapildi|çözüldü",  # noqa: RUF001
        _BEGUN: "sürüyor|devam ediyor|devam eden|yapılıyor|başladı|kısmen",  # noqa: RUF001
        _TODO: "bekliyor|yapılacak|yapilacak|planlandı|başlanmadı|hayır|açık",  # noqa: RUF001
        _BLOCKED: "engellendi|beklemede",
        _SKIPPED: "iptal|ertelendi|atlandı|vazgeçildi",  # noqa: RUF001
    },
    "Vietnamese": {
        _DONE: "xong|hoàn thành|đã xong|đã hoàn thành|đã làm|đã sửa|đã đóng",
        _BEGUN: "đang làm|đang thực hiện|đang tiến hành|đang xử lý|một phần",
        _TODO: "chưa làm|chưa|cần làm|chưa bắt đầu|kế hoạch|mở",
        _BLOCKED: "bị chặn|tạm dừng",
        _SKIPPED: "hoãn|bỏ qua|hủy|huỷ|đã hủy|đã huỷ|không làm",
    },
}
"""The words of each language, by state; the first one is written where an edit needs one."""

_SIGNS = {
    _DONE: "✅✔☑✓🟢",
    _BEGUN: "🟡🔄🚧⏳🔵🟠",
    _TODO: "⬜◻☐🔲⚪🔴⭕❌",
    _BLOCKED: "🚫⛔🛑",
    _SKIPPED: "⏭⏸",
}
CIRCLES = "🟢🟡🔴🔵🟠⚪"
OPEN_BOX_SIGNS = "⬜◻☐🔲"
"""Those that nobody uses as decoration."""
_STATE_OF_SIGN = {sign: state for state, signs in _SIGNS.items() for sign in signs}
_MARK_OF_STATE = {_DONE: "x", _BEGUN: "~", _TODO: "", _BLOCKED: "!"}
_SIGN = re.compile(f"([{''.join(_STATE_OF_SIGN)}])\ufe0f?")
_SIGN_AT_EDGE = re.compile(rf"\A\W*?{_SIGN.pattern}|{_SIGN.pattern}\W*\Z")
_REMARK = re.compile(rf"\({_SIGN.pattern}[^()]*\)")

_ROWS = [
    (name, language, state)
    for language, states in STATE_WORDS.items()
    for state, names in states.items()
    for name in names.split("|")
]
_STATE_OF_WORD = {name: state for name, _, state in reversed(_ROWS)}
_LANGUAGE_OF_WORD = {name: language for name, language, _ in reversed(_ROWS)}


def _pattern_of(name: str) -> str:
    """Languages without spaces need no end of a word."""
    end = "" if name[-1] > "\u2e80" else r"(?!\w)"
    if name == "ready":
        # A document is ready for a review, a task is ready.
        end = r"(?!\w| for\b)"
    return name.replace(" ", r"[\s_-]+") + end


# The words of all languages take long to compile, and few plans write a state as a word.
_ANY_WORD = "|".join(map(_pattern_of, sorted(_STATE_OF_WORD, key=len, reverse=True)))


@cache
def _words() -> re.Pattern[str]:
    return re.compile(rf"[^\w]*({_ANY_WORD})")


@cache
def _only_words() -> re.Pattern[str]:
    return re.compile(rf"[^\w]*(?:{_ANY_WORD})[^\w]*(?:{_ANY_WORD})?[^\w]*")


_LONGEST_REMARK = 80
_MARKS = str.maketrans("", "", "*`'\u2019")
_SHARE = re.compile(
    r"([0-9]{1,3})(?:\.[0-9]+)? ?%(?!\s*(?!of\b|complete|done|fertig)[^\W\d_])", re.IGNORECASE
)
"""How much of a task is done; not ``90 % coverage``."""
_TICKED = re.compile(r"\[[xX]\]")
_OPEN_BOX = re.compile(r"[\s*_`]*\[ ?\][\s*_`]*")
_CLOSING = re.compile(
    rf"\s*(?:[(\[（【]([^()\[\]（）【】]+)[)\]）】]"  # noqa: RUF001
    rf"|(?: --? | [\u2013\u2014|] ?|\u2014|:\s|：)\s*([^:：\u2013\u2014|()（）]+)"  # noqa: RUF001
    rf"|((?:{_SIGN.pattern}\s*)+))[\s*_.!]*\Z"
)
_BEFORE_NOTE = re.compile(r"(?:\s--?\s|\s?[\u2013\u2014]\s?)\s*([^:()\u2013\u2014-]+)\Z")
_BOLD_AT_END = re.compile(r"\s*(?<=\s)\*\*([^\s*][^*]{0,22})\*\*\s*\Z")
_BOLD_THEN_SIGN = re.compile(rf"(\*\*[^*]+\*\*)[\s:\u2013\u2014-]*{_SIGN.pattern}(?=\s)")
_BOLD_THEN_WORD = re.compile(r"(\*\*[^*]+\*\*)\s*[*_]{0,3}\(([^(),;:\u2013\u2014]{2,30})[,;:)]")
_OPENING = re.compile(r"[*_]{0,3}([^\s*_:：][^:：]{1,24})[:：]\s*(?=\S)")  # noqa: RUF001
_IN_BRACKETS = re.compile(r"\[[^\[\]]+\]|\([^()]+\)")
_DONE_BEHIND = re.compile(r"[^未没部分]已(?:完成|实现|修复|解决|上线|实施|关闭)\Z")
_PARTS = re.compile(r"[,;，、]")  # noqa: RUF001
_LONGEST_PART = 16
_STAGE = re.compile(
    r"\b(?:plan(?:ning)?|design|spec(?:ification)?|research|analysis|scoping|requirements)s?"
    r" (?:is |are )?(?:complete[d]?|done|finished|approved|ready)\W*\Z",
    re.IGNORECASE,
)
_DETAIL = re.compile(r"[\s,;]*(?:(?:on|at|in|am|le)\s+)?[0-9][0-9./:%-]*[\s0-9./:%-]*|100 ?%")


def _fold(text: str) -> str:
    return text.translate(_MARKS).lower()


def _spaced(words: str) -> str:
    return " ".join(re.split(r"[\s_-]+", words))


def _read_word(text: str) -> TaskState | None:
    words = _words().match(_fold(text))
    if words is None:
        return None
    state = _STATE_OF_WORD[_spaced(words[1])]
    share = _SHARE.search(text)
    is_partly = share is not None and share[1] != "100"
    return TaskState.IN_PROGRESS if state is TaskState.DONE and is_partly else state
