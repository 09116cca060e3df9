"""Item drafts: list items as the scanner finds them, with the fields that lines below them give.

Reasons (``Blocked by:``), criteria and severities are below the item that they belong to; their
words are known here. Whether an item is a task is decided by ``task_rules``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.headings import HeadingSection
from ralph_ls.core.plan.parse.lines import MarkdownLine
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plan.parse.words.chinese import compile_both, in_both_scripts
from ralph_ls.core.plan.parse.words.section_words import STATUS_LABELS
from ralph_ls.core.plan.parse.words.state_words import (
    read_state_word,
)
from ralph_ls.core.plan.parse.words.status_values import read_status, read_status_alone
from ralph_ls.protocol.task_words import TaskState


class ItemRole(Enum):
    """The role of an item in the item around it."""

    ITEM = auto()
    LABEL = auto()
    """``Acceptance criteria:``: what is nested in it are criteria."""
    CRITERION = auto()
    DETAIL = auto()
    """Nested in a criterion."""
    NOTE = auto()
    """``Blocked by: …`` or ``Needs: …`` outside tasks: left over from a removed task."""


@dataclass(slots=True, kw_only=True, eq=False)
class PlanItemDraft:
    """A candidate for a task, filled in during the scan and not changed afterwards.

    A heading or a row of a table is like a list item without nested lines.
    """

    line: int
    start: int
    end: int
    column: int
    """Of the marker, tabs counted to the next multiple of four."""
    content: int
    """The column where the item's text, or its box, begins."""
    is_numbered: bool
    box: str | None
    """The content of the box, without spaces; None without a box."""
    text: str
    """The text behind marker and box."""
    section: HeadingSection
    parent: PlanItemDraft | None = field(repr=False)
    kind: TaskKind = TaskKind.ITEM
    mark: tuple[int, int] | None = None
    """The place of the state in its line: inside the box, or the emoji."""
    written_state: TaskState | None = None
    """The state from an emoji or a ``Status:`` line."""
    role: ItemRole = ItemRole.ITEM
    end_line: int = 0
    is_optional: bool = False
    """True behind ``[ ]*``."""
    criteria: list[str] = field(default_factory=list)
    blocked_by: str | None = None
    needs: str | None = None
    severity: str | None = None
    n_rows: int = 0
    """The numbered rows without a state in tables of tasks below a heading."""
    odd_status: str | None = None
    """The words of a ``Status:`` line that give no state."""
    takes_criteria: bool = False
    """True while nested items are criteria, after a label without nested items."""
    is_bare_label: bool = False
    """True for a label until a text or a nested item follows it."""
    is_signed: bool = False
    """True for a heading whose state is an emoji in front, and nothing else."""
    is_coloured: bool = False
    """True for a heading whose state is a circle in front, which may be a colour and no more."""
    is_in_words: bool = False
    """True for a heading whose state is a word at its end."""
    is_part: bool = False
    """True for a row of a table of the parts of the work: with a column ``Phase``."""
    is_planned: bool = False
    """True for a row of a table that lists work and has no state in any row."""
    is_for_tasks: bool | None = None
    """Whether the bold label above its list, such as ``**Tasks:**``, says that it holds tasks."""
    label: str = ""
    """The line of prose above its list that announces it: ``Still open:``."""
    is_labelled: bool = False
    """True for a box below a label for criteria of a heading that is named like a task."""
    is_described: bool = False
    """True for a heading with a line such as ``- **Owner**: …`` below it."""
    fields: frozenset[str] = frozenset()
    """The fields below a heading, such as ``File``, which describe it if there are several."""

    @classmethod
    def of_line(
        cls,
        line: MarkdownLine,
        kind: TaskKind,
        section: HeadingSection,
        *,
        box: str | None,
        text: str,
    ) -> PlanItemDraft:
        """A heading or a row, which is one line without a marker and in no item."""
        return cls(
            line=line.number,
            start=line.start,
            end=line.start + len(line.text),
            column=line.column,
            content=line.column,
            is_numbered=False,
            box=box,
            text=text,
            section=section,
            parent=None,
            kind=kind,
        )

    @property
    def threshold(self) -> int:
        """The minimum column of lines that are nested in this item."""
        return self.column + 2


class ItemField(NamedTuple):
    """A line such as ``Blocked by: no key``."""

    name: str
    """In lower case: one of the names of ``_FIELD``, or ``CRITERIA_FIELD``."""
    value: str
    """May be empty."""


def read_field(text: str) -> ItemField | None:
    """Read a line such as ``Needs: …`` or ``**Acceptance criteria:**``; None for any other."""
    if ":" not in text and "：" not in text:  # noqa: RUF001
        return None
    found = _FIELD.match(text)
    if found is None:
        return None
    if found["name"] is not None:
        name = found["name"].lower()
    else:
        name = "status" if found["label"] is None else CRITERIA_FIELD
    return ItemField(name, fold_whitespace(found["value"]))


def read_state_line(text: str) -> ItemField | None:
    """Read a line below a heading that gives its state in another way than a ``Status:`` line.

    A field such as ``**Progress:** 100 %`` or ``**Completed:** 2026-05-01``.
    """
    found = _FIELD_WITH_STATE.match(text) if ":" in text or "：" in text else None  # noqa: RUF001
    if found is None:
        return None
    if found["done"] is not None:
        return ItemField("status", found["done"]) if _WHEN.match(found["value"]) else None
    value = fold_whitespace(found["value"])
    is_state = read_state_word(value) is not None or read_status_alone(value) is not None
    return ItemField("status", value) if is_state else None


def read_status_part(text: str) -> tuple[int, int] | None:
    """The span of the value in ``Story: US-1 | **Status**: [x] done | Model: m``."""
    found = None if text.startswith("|") else _STATUS_PART.search(text)
    return None if found is None else found.span(1)


def describes_task(text: str) -> bool:
    """Whether a line such as ``**Owner**: …`` says that what is above it is one task."""
    return _DESCRIPTION.match(text) is not None


def field_label(text: str) -> str | None:
    """The name in a line such as ``**File**: …``; several of them in a list describe one task."""
    if ":" not in text and "：" not in text:  # noqa: RUF001
        return None
    found = _FIELD_OF_TASK.match(text)
    return None if found is None else found[1].lower()


def note_field(owner: PlanItemDraft, found: ItemField) -> None:
    """Record a field in a line inside an item; the first of a kind counts."""
    if found.name == "blocked by":
        owner.blocked_by = owner.blocked_by or found.value or None
    elif found.name in _NEEDS:
        owner.needs = owner.needs or found.value or None
    elif found.name == "severity":
        owner.severity = owner.severity or found.value.lower() or None
    elif found.name == "status":
        state = read_status(owner.section.with_signs(found.value))
        owner.odd_status = owner.odd_status or (found.value if state is None else None)
        is_sure = owner.is_signed and state is not None
        owner.written_state = state if is_sure else owner.written_state or state
        owner.is_signed = owner.is_signed and state is None
    elif found.value:
        owner.criteria.append(found.value)
    else:
        owner.takes_criteria = True


def add_criterion(owner: PlanItemDraft | None, item: PlanItemDraft) -> None:
    """Make an item a criterion of the item or heading above it."""
    item.role = ItemRole.CRITERION
    text = fold_whitespace(item.text)
    if owner is not None and text:
        owner.criteria.append(text)


def attach_item(item: PlanItemDraft) -> None:
    """Set the role of a new item in the item around it, and update the latter."""
    around = item.parent
    found = read_field(item.text)
    is_label = found is not None and found.name in _LABELS
    if found is not None and item.box is not None and not (is_label and not found.value):
        found, is_label = None, False
    if around is None:
        if is_label and found is not None and not found.value:
            item.role = ItemRole.LABEL
        elif found is not None and found.name == "status":
            item.role = ItemRole.DETAIL
        elif found is not None and found.name in _REASONS and found.value:
            item.role = ItemRole.NOTE
        return
    around.is_bare_label = False
    if around.role is ItemRole.NOTE and item.box is None:
        item.role = ItemRole.DETAIL
        return
    if around.role in {ItemRole.CRITERION, ItemRole.DETAIL}:
        item.role = ItemRole.DETAIL
    elif around.role is ItemRole.LABEL:
        add_criterion(around.parent, item)
    elif around.takes_criteria and found is None and not _announces(item):
        add_criterion(around, item)
    else:
        around.takes_criteria = False
        if is_label:
            item.role = ItemRole.LABEL
            item.is_bare_label = found is not None and not found.value
        if found is not None and (found.value or not is_label):
            note_field(around, found)


CRITERIA_FIELD = "acceptance criteria"
CRITERIA_LABELS = in_both_scripts(
    "acceptance criteria|criteria|done when|exit criteria|success criteria|completion criteria"
    "|pass criteria|passing criteria|done criteria|definition of done"
    "|验收标准|验收条件|完成标准|驗收標準"
    "|受け入れ基準|受入基準|受け入れ条件|完了条件"
    "|완료 조건|완료 기준|인수 조건|akzeptanzkriterien|erfolgskriterien|critères d'acceptation"
    "|critères de succès|criterios de aceptación|criterios de éxito|critérios de aceitação"
    "|critérios de sucesso|критерии приёмки|критерии приемки|критерии готовности"
    "|критерии успеха|kryteria akceptacji|kryteria sukcesu|acceptatiecriteria|succescriteria"
    "|criteri di accettazione|criteri di successo|kriteria penerimaan|kriteria keberhasilan"
    "|kabul kriterleri|başarı kriterleri|tiêu chí chấp nhận|tiêu chí thành công"  # noqa: RUF001
    "|критерії приймання|критерії прийняття|критерії готовності|критерії успіху"
    "|معايير القبول|معايير النجاح|معیارهای پذیرش|קריטריוני קבלה|acceptanskriterier|akseptkriterier"
    "|hyväksymiskriteerit|akceptační kritéria|elfogadási kritériumok|κριτήρια αποδοχής"
    "|criterii de acceptare|критерии за приемане|เกณฑ์การยอมรับ"
)
"""Labels below which the criteria of a task are, as a pattern, in lower case."""
_FIELD = re.compile(
    rf"[*_]{{0,3}}(?:(?P<label>{CRITERIA_LABELS})|(?P<status>{STATUS_LABELS})"
    r"|(?P<name>blocked by|needs|waiting (?:on|for)|severity))"
    r"(?:[ \t]?[(（][^()（）]{1,20}[)）])?"  # noqa: RUF001
    r"[*_]{0,3}[ \t]*(?(name):|[:：])[*_]{0,3}(?P<value>.*)",  # noqa: RUF001
    re.IGNORECASE | re.DOTALL,
)
_DESCRIPTION = compile_both(
    r"[*_]{0,3}(?:status|owner|assignee|priority|effort|estimate[ds]?|estimated (?:effort|time)"
    r"|complexity|depends on|dependencies|blocked by|description|acceptance criteria|goal"
    r"|状态|优先级|描述|状態|優先度|상태|우선순위|aufwand|priorität|estado|prioridad|priorité|statut"
    r"|статус|приоритет|описание|priorytet|opis|prioriteit|beschrijving|bestand|actie|prioridade"
    r"|stato|priorità|descrizione|prioritas|deskripsi|durum|öncelik|açıklama|trạng thái|ưu tiên"  # noqa: RUF001
    r"|mô tả|стан|пріоритет|опис|виконавець|stan|beschreibung|descripción|descrição)"
    r"[*_]{0,3}[ \t]*[:：][*_]{0,3}[ \t]*\S",  # noqa: RUF001
    re.IGNORECASE,
)
_FIELD_OF_TASK = compile_both(
    r"[*_]{0,3}(files?|file paths?|locations?|where|problem|symptoms?|(?:root )?cause|solution"
    r"|(?:proposed|suggested|recommended|required) (?:solution|fix|changes?)|acceptance tests?"
    r"|context|idea|motivation|benefits?|background|proposal|possible (?:solution|implementation)"
    r"|purpose|use case|impact|severity|rationale|reason|why|evidence"
    r"|(?:current|expected|actual) behaviou?r"
    r"|文件|位置|问题|原因|解决方案|修复方案|影响|验收测试|ファイル|場所|問題|解決策|影響|파일|위치|문제|원인|해결책"
    r"|해결 방안|영향|datei(?:en)?|ort|ursache|lösung|auswirkung|fichiers?|problème|archivos?"
    r"|problema|causa|solución|impacto|arquivos?|solução|файлы?|проблема|причина|решение|влияние"
    r"|pliki?|przyczyna|rozwiązanie|wpływ|bestand(?:en)?|probleem|oorzaak|oplossing|soluzione"
    r"|impatto|berkas|masalah|penyebab|solusi|dampak|dosya(?:lar)?|sorun|neden|çözüm|etki|tệp"
    r"|vấn đề|nguyên nhân|giải pháp|ảnh hưởng|файли?|проблеми?|рішення|вплив|симптоми)"
    r"(?:[*_]{0,3}[ \t]*[:：])",  # noqa: RUF001
    re.IGNORECASE,
)
_FIELD_WITH_STATE = compile_both(
    r"[*_]{0,3}(?:(?P<done>completed|finished|done|implemented)(?: (?:on|at|date))?"
    r"|(?:(?:current|implementation|overall|task|phase|completion|development|work) )?"
    r"(?:status|state|progress|result|completion|outcome)"
    r"|进度|进展|完成度|進捗|진행률|진행 상황|fortschritt|avancement|progreso|progresso|прогресс"
    r"|postęp|voortgang|avanzamento|ilerleme|tiến độ|прогрес)"
    r"[*_]{0,3}[ \t]*[:：][*_]{0,3}[ \t]*(?P<value>.*)",  # noqa: RUF001
    re.IGNORECASE | re.DOTALL,
)
_WHEN = re.compile(
    r"[\s*_`]*(?:[0-9]{4}[-./][0-9]|[0-9]{1,2}[-./ ]\w+|[A-Z][a-z]{2,8}\.? [0-9]|yes\b|[✅✓])"
)
_STATUS_PART = re.compile(
    r"\|[ \t]*[*_]{0,3}status[*_]{0,3}[ \t]*:[*_]{0,3}[ \t]*([^|]*[^|\s])", re.IGNORECASE
)
_NEEDS = frozenset({"needs", "waiting on", "waiting for"})
_REASONS = _NEEDS | {"blocked by"}
_LABELS = frozenset({CRITERIA_FIELD})
_LONGEST_LABEL = 40


def _announces(item: PlanItemDraft) -> bool:
    """Whether an item such as ``Files:`` announces something other than criteria."""
    if item.box is not None or len(item.text) > _LONGEST_LABEL:
        return False
    return item.text.rstrip(" \t*_").endswith(":") and len(item.text.split()) == 1
