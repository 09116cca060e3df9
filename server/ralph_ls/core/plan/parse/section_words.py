"""Section words: what headings of sections and columns say of what is below, in eight languages.

A heading is compared as a whole, in lower case and without marks, numbers and remarks.
"""

from __future__ import annotations

import re


def _names(*words: str) -> frozenset[str]:
    return frozenset(name for names in words for name in names.split("|"))


TASKS = _names(
    "action items|active tasks|backlog|checklist|current task|current tasks|implementation tasks",
    "in progress|next|next steps|next tasks|next up|open|open tasks|outstanding|outstanding tasks",
    "pending|pending tasks|prioritised tasks|prioritized tasks|remaining|remaining tasks",
    "remaining work|task breakdown|task list|tasks|to do|to do list|todo|todo list|todos|up next",
    "upcoming|upcoming tasks|work items",
    "任务|任务列表|任务清单|待办|待办事项|待办任务|待完成|未完成|下一步|实施任务|进行中|任務",
    "タスク|タスク一覧|やること|未完了|未着手|次のステップ|残タスク|残作業|進行中",
    "할 일|작업|작업 목록|남은 작업|다음 단계|진행 중|미완료|태스크",
    "aufgaben|aufgabenliste|offen|offene aufgaben|offene punkte|zu tun|nächste schritte|in arbeit",
    "tâches|liste des tâches|à faire|prochaines étapes|en cours|tâches restantes",
    "tareas|lista de tareas|pendiente|pendientes|tareas pendientes|por hacer|próximos pasos",
    "en progreso|en curso",
    "tarefas|lista de tarefas|a fazer|pendentes|tarefas pendentes|próximos passos|em andamento",
    "em progresso",
)

DONE = _names(
    "已完成|完成|已完成任务|已完成的任务|完了|完了済み|完了タスク|完了したタスク",
    "완료|완료됨|완료된 작업",
    "erledigt|erledigte aufgaben|abgeschlossen|fertig|terminé|terminées|fait|tâches terminées",
    "completado|completados|completadas|hecho|terminado|tareas completadas",
    "concluído|concluídas|feito|tarefas concluídas",
)

NOTES = _names("备注|笔记|メモ|備考|메모|notizen|notas")

PROSE = _names(
    "about|acceptance criteria|appendix|architecture|assumptions|background|changelog|constraints",
    "context|decisions|definition of done|design|discoveries|environment|example|examples",
    "file structure|glossary|goal|goals|history|how it works|how to use|how to use this plan",
    "important|instructions|introduction|key decisions|learnings|legend|lessons learned|links",
    "non goals|objective|objectives|open questions|out of scope|overview|prerequisites|process",
    "project structure|purpose|quality gates|questions|references|requirements|resources|risks",
    "rules|scope|status legend|success criteria|summary|tech stack|template|testing strategy|tips",
    "usage|warnings|workflow",
    "概述|背景|目标|架构|风险|验收标准|成功标准|注意事项|更新日志|变更记录|技术栈|参考|参考资料|总结",
    "概要|目的|リスク|受け入れ基準|変更履歴|注意事項|개요|배경|목표|위험|참고|완료 기준|성공 기준",
    "übersicht|überblick|hintergrund|ziel|ziele|risiken|akzeptanzkriterien|zusammenfassung",
    "voraussetzungen|aperçu|contexte|objectif|objectifs|risques|critères d'acceptation|résumé",
    "resumen|contexto|objetivo|objetivos|riesgos|criterios de aceptación|resumo|riscos",
    "critérios de aceitação|visão geral|change log|dependencies|implementation strategy|estimates",
    "risk assessment|risks and mitigations|success metrics|metrics|timeline|files|key files",
)

PROSE_LAST_WORDS = ("guideline", "guidelines", "conventions", "principles", "references")

STEPS = re.compile(
    r"\W*(?:(?:phase|milestone|sprint|step|stage|phasen?|meilenstein|schritt|étape|jalon|fase|hito|"
    r"paso|etapa|marco|passo)\b|第[一二三四五六七八九十0-9]+[阶階步]|阶段|階段|步骤|フェーズ|ステップ|"
    r"マイルストーン|[0-9]+ ?단계|단계|스프린트|마일스톤)"
)
"""Beginnings of headings whose numbered lists are tasks in a plan without any box."""

_NUMBER = r"[ ]?[#\u2116]?[0-9]+(?:[.-][0-9]+)*[a-z]?\b"
TASK_NAME = re.compile(
    r"[^\w\[]*(?:[0-9]+(?:\.[0-9]+)*[.)]?[ ]+)?"
    rf"(?:(?:task|story|ticket|aufgabe|tâche|tarea|tarefa){_NUMBER}"
    r"|t[0-9]{1,4}\b(?=[ :.\u2013\u2014-])"
    rf"|(?:任务|任務|タスク|작업|태스크){_NUMBER})"
)
"""Beginnings of headings that are named like tasks: ``Task 1: …``, ``T001: …``."""

STEP_NAME = re.compile(
    rf"[^\w\[]*(?:phase|milestone|sprint|step|stage|slice|epic|iteration|wave|schritt|étape|paso|etapa|passo){_NUMBER}"
    r"|[^\w\[]*第[一二三四五六七八九十0-9]+[阶階步]"
    r"|[^\w\[]*(?:阶段|步骤|フェーズ|ステップ)[ ]?[0-9]"
)
"""Those that hold tasks elsewhere, but are tasks themselves where nothing else is one."""

SUB_STEP = re.compile(r"\W*[0-9]+\.[0-9]+")
"""Beginnings of headings that divide one of those."""

PRIORITIES = {
    "P0": _names(
        "高优先级|最高优先级|紧急|優先度高|優先度: 高|高優先度|높은 우선순위|우선순위 높음",
        "hohe priorität",
        "haute priorité|priorité haute|alta prioridad|prioridad alta|alta prioridade",
        "prioridade alta",
    ),
    "P1": _names(
        "中优先级|优先级中|優先度中|中優先度|중간 우선순위|mittlere priorität|priorité moyenne",
        "prioridad media|prioridade média|média prioridade",
    ),
    "P2": _names(
        "低优先级|優先度低|低優先度|낮은 우선순위|niedrige priorität|basse priorité|priorité basse",
        "baja prioridad|prioridad baja|baixa prioridade|prioridade baixa",
    ),
}

TITLE_COLUMNS = _names(
    "task|title|name|description|story|item|feature|what|step|work|任务|任務|名称|功能|标题|内容",
    "タスク|項目|機能|작업|항목|기능|내용|aufgabe|titel|beschreibung|tâche|titre|tarea|título",
    "descripción|tarefa|descrição",
)
PART_COLUMNS = _names("stage|phase|milestone|module|component|阶段|模块|フェーズ|단계|etapa|fase")
"""Titles where no column of the others is there."""
STATE_COLUMNS = _names(
    "status|state|done|done?|complete|completed|progress|状态|狀態|进度|状態|進捗|状況|상태|진행",
    "stand|zustand|état|statut|estado|situação",
)
PRIORITY_COLUMNS = _names(
    "priority|prio|severity|优先级|優先級|優先度|우선순위|priorität|priorité|prioridad|prioridade"
)
