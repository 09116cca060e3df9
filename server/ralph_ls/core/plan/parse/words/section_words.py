"""Section words: what headings of sections and columns say of what is below, in sixteen languages.

A heading is compared as a whole, in lower case and without marks, numbers and remarks.
"""

from __future__ import annotations

import re

from ralph_ls.core.plan.parse.words.chinese import compile_both, in_traditional


def _names(*words: str) -> frozenset[str]:
    found = frozenset(name for names in words for name in names.split("|"))
    return found | {in_traditional(name) for name in found if not name.isascii()}


FINDINGS = _names(
    "missing|incomplete|missing features|what's missing|what is missing|missing pieces",
    "not implemented|빠진 것|빠진 기능|부족한 것|없는 것|缺失功能|缺少的功能|不足している機能",
    "未实现|what does not exist|what doesn't exist|does not exist|doesn't exist|what is not there",
    "lo que no existe|ce qui n'existe pas|was nicht existiert|o que não existe|чего нет|不存在",
)
"""What an analysis finds; elsewhere it holds tasks."""

TASKS = FINDINGS | _names(
    "open issues|open bugs",
    "action items|active tasks|backlog|checklist|current task|current tasks|implementation tasks",
    "in progress|next|next steps|next tasks|next up|open|open tasks|outstanding|outstanding tasks",
    "not done|pending|pending tasks|prioritised tasks|prioritized tasks",
    "remaining|remaining items|remaining tasks",
    "implementation queue|queue|remaining work|task breakdown|task list|task queue|tasks|to do",
    "ordered task list|ordered tasks|remaining features|remaining phases|remaining steps",
    "to do list|todo|todo list|todos|up next|work queue",
    "follow ups|next action|next task|next work|open items",
    "immediate actions|immediate next steps|immediate steps|next actions",
    "now|near term|short term|medium term|mid term|long term|longer term|this week|this sprint",
    "near term goals|short term goals|medium term goals|mid term goals|long term goals",
    "current sprint|next sprint|today|active|active work",
    "upcoming|upcoming tasks|work items|core tasks|development tasks|follow up tasks",
    "followup tasks|immediate tasks|key tasks|main tasks|priority tasks|technical tasks",
    "后续优先级|后续计划|后续任务列表|任务|任务列表|任务清单|待办|待办事项|待办任务|待完成|未完成|未完成功能|未完成任务|未完成的任务|待实现",
    "实施清单|实现清单|开发清单|执行清单|工作清单|實施清單|実装チェックリスト|実装リスト",
    "下一步|实施任务|进行中|任務|下次工作|下次任务|下一步工作|下一步计划|后续工作|后续任务|接下来",
    "立即下一步|近期下一步|立即行动|近期任务|近期工作",
    "タスク|タスク一覧|やること|未完了|未着手|次のステップ|残タスク|残作業|進行中",
    "할 일|작업|작업 목록|남은 작업|다음 단계|진행 중|진행 중인 작업|예정된 작업",
    "대기 중인 작업|미완료|해야 할 일|태스크",
    "aufgaben|aufgabenliste|offen|offene aufgaben|offene punkte|zu tun|nächste schritte|in arbeit",
    "tâches|liste des tâches|à faire|prochaines étapes|en cours|tâches restantes",
    "prochaine étape|prochaine tâche|prochaines tâches",
    "tareas|lista de tareas|pendiente|pendientes|tareas pendientes|por hacer|próximos pasos",
    "en progreso|en curso",
    "tarefas|lista de tarefas|a fazer|pendentes|tarefas pendentes|próximos passos|em andamento",
    "em progresso",
    "задачи|список задач|текущие задачи|открытые задачи|оставшиеся задачи|осталось|нужно сделать",
    "осталось сделать|что осталось|что осталось сделать|оставшаяся работа|к выполнению|в работе",
    "следующий шаг|следующая задача|следующие шаги|дальнейшие шаги|ближайшие шаги|в процессе",
    "не сделано|не выполнено|бэклог",
    "zadania|lista zadań|do zrobienia|pozostałe zadania|pozostało|pozostało do zrobienia|w trakcie",
    "następne kroki|kolejne kroki|w toku|otwarte zadania|bieżące zadania|nadchodzące zadania",
    "taken|takenlijst|openstaande taken|open taken|te doen|nog te doen|volgende stappen",
    "actiepunten|vervolgstappen|in uitvoering|resterende taken|resterend werk",
    "da fare|attività|compiti|prossimi passi|attività rimanenti|elenco attività|cose da fare",
    "yapılacaklar|yapılacak|görevler|görev listesi|sonraki adımlar|kalan görevler|kalan işler",  # noqa: RUF001
    "việc cần làm|cần làm|công việc|danh sách công việc|nhiệm vụ|các bước tiếp theo|còn lại",
    "bước tiếp theo|việc còn lại|đang làm",
    "tugas|daftar tugas|langkah selanjutnya|langkah berikutnya|selanjutnya|belum selesai",
    "sedang dikerjakan|tugas tersisa|tugas yang tersisa|sisa tugas|perlu dikerjakan",
    "sedang berjalan",
    "devam edenler|devam eden|devam eden görevler|açık görevler|bekleyen görevler|in corso",  # noqa: RUF001
    "attività aperte|attività in sospeso|da completare|zu erledigen|noch zu tun|noch offen",
    "завдання|задачі|список завдань|список задач|поточні завдання|поточні задачі|відкриті завдання",
    "до виконання|залишилось|залишилося|залишилось зробити|що залишилось|треба зробити|зробити",
    "наступні кроки|наступний крок|наступне завдання|подальші кроки|найближчі кроки|в роботі",
    "у роботі|в процесі|у процесі|не виконано|не зроблено|беклог|невиконані завдання",  # noqa: RUF001
)

DONE = _names(
    "갖춘 것|있는 것",
    "已完成|完成|已完成阶段|已完成功能|已完成工作|已完成事项|已完成项",
    "已完成任务|已完成的任务|完了|完了済み|完了タスク|完了したタスク",
    "完了した作業|完成した作業|完了した項目|実装済み|実装済みの機能",
    "완료|완료됨|완료된 작업|완료한 작업|완료된 것|완료 항목",
    "erledigt|erledigte aufgaben|abgeschlossen|fertig|terminé|terminées|fait|tâches terminées",
    "completado|completados|completadas|hecho|terminado|tareas completadas",
    "concluído|concluídas|feito|tarefas concluídas",
    "what was done|what has been done|what we did|work done|done so far|shipped|implemented",
    "resolved|closed|achievements|accomplishments|recently shipped|released",
    "resolved issues|fixed issues|fixed bugs|closed issues",
    "выполнено|выполненные задачи|выполненные этапы|завершено|завершённые задачи",
    "завершенные задачи|сделано|что сделано|готово|реализовано",
    "zakończone|zrobione|ukończone|wykonane|gotowe|zrealizowane|zakończone zadania",
    "ukończone zadania|wykonane zadania",
    "gedaan|klaar|afgerond|voltooid|gereed|afgeronde taken|voltooide taken",
    "completato|completati|completate|fatto|tamamlananlar|tamamlandı|yapılanlar|bitenler",  # noqa: RUF001
    "đã xong|đã hoàn thành|hoàn thành|đã làm|xong|selesai|sudah selesai",
    "tugas selesai|görevler tamamlandı|tamamlanan görevler|fatti|attività completate",  # noqa: RUF001
    "виконано|виконані завдання|виконані задачі|завершено|завершені завдання|зроблено|готово",
    "що зроблено|реалізовано|завершені етапи",
)

BEGUN = _names(
    "in progress|work in progress|tasks in progress|进行中|進行中|진행 중|진행 중인 작업|in arbeit",
    "en cours|en progreso|en curso|em andamento|em progresso|в работе|в процессе|w trakcie|w toku",
    "in uitvoering|đang làm|in corso|sedang dikerjakan|sedang berjalan|devam edenler|devam eden",
    "в роботі|у роботі|в процесі|у процесі",  # noqa: RUF001
)
"""Whole headings below which what gives no state is in progress."""

PROGRESS = BEGUN | _names(
    "active|active tasks|blocked|current|current task|current tasks|doing|in review",
    "on hold|review|wip|working on|на проверке|mee bezig",
)
"""Columns of a board between its backlog and what is done."""

NOTES = _names(
    "备注|笔记|メモ|備考|메모|notizen|notas",
    "заметки|примечания|notatki|uwagi|uwagi techniczne|notities|opmerkingen",
    "catatan|ghi chú|ghi chú thực thi|notlar|appunti|remarques|anotações|observações|observaciones",
    "нотатки|примітки|зауваження|anmerkungen|bemerkungen",
)
"""Never tasks."""

LEGENDS = _names(
    "priority key|key|how items get added|how to add items",
    "status key|status indicators|task status|task statuses|task states|checkbox legend|symbols",
    "legend|status legend|task legend|task notation|notation|task tags|task format|status values",
    "status definitions|状态说明|图例|凡例|범례|legende|légende|leyenda|legenda|statuslegende",
    "легенда|умовні позначення|позначення|статуси|обозначения|keterangan|legenda status|açıklama",  # noqa: RUF001
    "gösterim|chú giải|chú thích|ký hiệu",
)
"""The same: a box for each state is explained there."""

PROSE = _names(
    "about|acceptance criteria|appendix|architecture|assumptions|background|changelog|constraints",
    "context|decisions|definition of done|design|discoveries|environment|example|examples",
    "file structure|glossary|goal|goals|history|how it works|how to use|how to use this plan",
    "important|instructions|introduction|key decisions|learnings|lessons learned|links",
    "non goals|objective|objectives|open questions|out of scope|overview|prerequisites|process",
    "project structure|purpose|quality gates|questions|references|requirements|resources|risks",
    "rules|scope|success criteria|summary|tech stack|template|testing strategy|tips",
    "usage|warnings|workflow",
    "decision log|decision record|decision records|方案选择|方案选择记录",
    "конвенции|соглашения|правила|konwencje|zasady|conventies|afspraken|convenzioni|regole|kurallar",
    "правила роботи|конвенції|угоди|принципи|principios|principios no negociables|princípios",
    "non negotiables|prinzipien|grundsätze|principes|принципы|原则|原則|원칙|principi|prinsip",
    "nguyên tắc|ilkeler",
    "quy ước|quy tắc|konvensi|aturan|規約|規則|ルール|规则|惯例|规范",
    "규칙|컨벤션|hinweise|regeln|règles|reglas",
    "regras|konventionen|convenciones|convenções|约定|规约|규약",
    "决策|决策记录|技术决策|決定事項|결정 사항",
    "概述|背景|目标|架构|风险|验收标准|成功标准|注意事项|更新日志|变更记录|技术栈|参考|参考资料|总结",
    "概要|目的|リスク|受け入れ基準|変更履歴|注意事項|개요|배경|목표|위험|참고|완료 기준|성공 기준",
    "übersicht|überblick|hintergrund|ziel|ziele|risiken|akzeptanzkriterien|zusammenfassung",
    "voraussetzungen|aperçu|contexte|objectif|objectifs|risques|critères d'acceptation|résumé",
    "resumen|contexto|objetivo|objetivos|riesgos|criterios de aceptación|resumo|riscos",
    "critérios de aceitação|visão geral|change log|dependencies|implementation strategy|estimates",
    "phase dependencies|user story dependencies|story dependencies|within each user story",
    "parallel opportunities|parallel execution|parallel team strategy|parallel examples",
    "incremental delivery|mvp scope|mvp strategy|dependency graph|task dependencies",
    "path conventions",
    "обзор|описание|описание задачи|цель|цели|контекст|требования|архитектура|риски",
    "критерии приёмки|критерии приемки|критерии готовности|ссылки|итоги|резюме|введение",
    "структура проекта|вне рамок|технические заметки|как тестировать|проверка",
    "przegląd|opis|opis projektu|cel|cele|kontekst|wymagania|architektura|ryzyka|podsumowanie",
    "kryteria akceptacji|wprowadzenie|zakres|decyzje|decyzje techniczne|weryfikacja",
    "metryki sukcesu",
    "overzicht|doel|doelen|achtergrond|vereisten|eisen|architectuur|risico's|acceptatiecriteria",
    "samenvatting|inleiding|werkafspraken|succescriteria|beslissingen|verificatie",
    "panoramica|riepilogo|introduzione|obiettivi|rischi|requisiti|architettura|criteri di successo",
    "criteri di accettazione|decisioni|sfondo|metas|requisitos|arquitetura|arquitectura",
    "anforderungen|architektur|entscheidungen|exigences|décisions|decisiones|decisões",
    "ikhtisar|ringkasan|pendahuluan|latar belakang|tujuan|risiko|persyaratan|arsitektur|keputusan",
    "genel bakış|özet|giriş|hedefler|hedef|riskler|gereksinimler|mimari|kararlar|kabul kriterleri",  # noqa: RUF001
    "tổng quan|tóm tắt|giới thiệu|bối cảnh|mục tiêu|rủi ro|yêu cầu|kiến trúc|quyết định",
    "огляд|опис|опис завдання|мета|ціль|цілі|контекст|вимоги|архітектура|ризики|посилання|підсумки",
    "резюме|вступ|структура проєкту|структура проекту|поза межами|технічні нотатки|як тестувати",
    "перевірка|рішення|технічні рішення|метрики успіху",
    "risk assessment|risks and mitigations|success metrics|metrics|timeline|files|key files",
    "métricas de éxito|métricas de sucesso|indicateurs de succès|erfolgsmetriken|成功指标",
    "成功指標|성공 지표",
    "metriche di successo|метрики успеха|metryki sukcesu|succesmetrieken|metrik keberhasilan",
    "chỉ số thành công|метрики успіху|kpis|indicadores de éxito|métricas",
    "başarı metrikleri",  # noqa: RUF001
    "problem|the problem|problem statement|desired behavior|desired behaviour|expected behavior",
    "expected behaviour|current behavior|current behaviour|steps to reproduce|motivation|rationale",
    "disadvantages|drawbacks|alternatives|alternatives considered|considered alternatives",
    "rejected alternatives|alternatives rejected|options considered|considered options",
    "备选方案|替代方案|代替案|検討した代替案|대안|검토한 대안|alternativen",
    "betrachtete alternativen",
    "alternatives envisagées|alternativas|alternativas consideradas|альтернативы|alternatywy",
    "rozważane alternatywy|alternatieven|overwogen alternatieven|alternative considerate",
    "değerlendirilen alternatifler|các phương án thay thế|alternatif",
    "highlights|technical highlights|key highlights|project highlights|技术亮点|亮点|项目亮点",
    "功能亮点|技术特色|技術亮點|ハイライト|하이라이트|technische highlights|points forts|destaques",
    "aspectos destacados|ключевые особенности|najważniejsze cechy|hoogtepunten|punti di forza",
    "strengths|weaknesses|pros|cons|advantages|benefits|expected results|expected outcomes",
    "expected benefits|trade offs|tradeoffs|优势|劣势|优点|缺点|弱点|预期收益|预期效果|预期结果",
    "メリット|デメリット",
    "期待効果|장점|기대 효과|stärken|schwächen|vorteile|avantages|ventajas|vantagens",
    "сильные стороны|слабые стороны|преимущества|ожидаемые результаты|ожидаемый результат",
    "zalety|oczekiwane rezultaty|voordelen",
)

CRITERIA = compile_both(
    r"(?:acceptance|success|completion|exit|entry|entrance|验收|成功)"
    r" ?(?:criteria|checks?|tests?|标准)\b.*"
    r"|(?:[\w'.-]+ ){0,3}(?:acceptance|success|completion|exit|entry|entrance|pass|passing|done"
    r"|release|ready) criteria\b.*"
    r"|(?:acceptance|quality|verification|验收|质量) ?(?:baseline|基线)\b.*"
    r"|(?:ac|acceptance|requirements?|spec|criteria) (?:criteria )?coverage\b.*"
    r"|完成条件.*|完成條件.*"
    r"|.*(?:完成|验收)标准"
    r"|(?:[\w'.-]+ ){0,2}check ?list (?:for|before|after|zu[mr]?|für|pour|avant|para|перехода"
    r"|перед|для|do|voor) .*"
    r"|definition of done\b.*"
    r"|(?:exit|quality|release|entry) gates?\b.*|(?:phase )?checkpoints"
    r"|(?:final|ship|launch|release|pre ?flight|submission|delivery) check ?list\b.*"
    r"|(?:[\w'-]+ ){0,2}(?:migration|security|quality|completion|rollout|cutover|go live|mainnet"
    r"|production|readiness|compliance|smoke|regression|guardrails?) check ?list"
    r"|.*(?:테스트 체크리스트|测试清单|检查清单|验收清单|验证清单|上线清单|检查点)"
    r"|(?:manual |final |regression |pre )?(?:test(?:ing)?|verification|validation|qa|review"
    r"|deploy(?:ment)?|release|launch|submission|acceptance|merge|handoff)"
    r" (?:check ?list|steps|criteria)"
    r"|(?:テスト|検証|動作確認)(?:チェック)?(?:リスト|項目)|(?:測試|驗證|測試檢查)清單|测试检查(?:表|项)"
    r"|(?:[^\W\d_]+ )?(?:테스트|검증|점검|확인|배포|출시|회귀) ?(?:체크 ?리스트|목록|항목|사항)"
    r"|(?:test|abnahme|prüf|qualitäts)(?: ?check)? ?liste"
    r"|(?:liste de|checklist des?|check liste des?) (?:tests?|recette|validation|contrôle)"
    r"|(?:lista de|checklist de) (?:pruebas|testes?|validación|validação|control de calidad)"
    r"|(?:чек ?лист|чеклист|контрольный список|список) (?:тест\w*|провер\w*|приёмки|приемки)"
    r"|(?:lista|checklista) (?:kontrolna testów|testów|testowa)|test ?checklijst|testlijst"
    r"|(?:lista|checklist) (?:di|dei) (?:test|collaudo)|test (?:kontrol )?listesi"
    r"|danh sách (?:kiểm thử|kiểm tra)|daftar (?:periksa pengujian|uji)"
    r"|受け入れ基準.*|完了条件.*|.*完了の定義.*"
    r"|완료 (?:기준|조건).*|성공 기준.*|akzeptanzkriterien.*"
    r"|critères (?:d'acceptation|de succès).*|criterios de (?:aceptación|éxito).*"
    r"|critérios de (?:aceitação|sucesso).*|критерии (?:приёмки|приемки|готовности|успеха).*"
    r"|kryteria (?:akceptacji|sukcesu|ukończenia).*|(?:acceptatie|succes)criteria.*"
    r"|criteri di (?:accettazione|successo).*|kriteria (?:penerimaan|keberhasilan|selesai).*"
    r"|(?:kabul|başarı|tamamlanma) kriterleri.*|tiêu chí (?:chấp nhận|hoàn thành|thành công).*"  # noqa: RUF001
    r"|критерії (?:приймання|прийняття|готовності|успіху).*"
    r"|(?:чек ?лист|контрольний список|список) (?:тест\w*|перевір\w*|приймання)"
    r"|معايير (?:القبول|النجاح|الاكتمال).*|معیارهای پذیرش.*|קריטריוני (?:קבלה|הצלחה).*"
    r"|acceptanskriterier.*|(?:accept|aksept)kriterier.*|hyväksymis(?:kriteerit|ehdot).*"
    r"|akceptační kritéria.*|kritéria přijetí.*|elfogadási (?:kritériumok|feltételek).*"
    r"|κριτήρια αποδοχής.*|criterii de acceptare.*|критерии за приемане.*|เกณฑ์การยอมรับ.*"
)
"""Whole headings whose boxes say when the work is done, not what it is."""

GATE = re.compile(
    r"gate(?: [a-z]?[0-9]*)?|done when|puerta(?: de (?:calidad|salida))?(?: [a-z]?[0-9]*)?"
    r"|portes? de (?:qualité|sortie)|qualitätstor|porta de qualidade"
)
"""More labels above boxes that say when a part of the work is over."""

CHECKS = _names(
    "criteria|verification|verification criteria|verify|validation|validation criteria|checks",
    "test criteria|testing criteria|done criteria|done when|quality gate|quality gates|dod",
    "验证|验证标准|验收|检查项|测试标准|驗證|検証|検証項目|確認事項|確認項目",
    "テスト基準|검증|검증 기준|확인 사항|테스트 기준",
    "überprüfung|prüfung|prüfkriterien|testkriterien|kriterien|vérification|vérifications|critères",
    "critères de test|verificación|verificacion|validación|validacion|criterios|comprobaciones",
    "criterios de prueba|verificação|verificacao|validação|validacao|critérios|critérios de teste",
    "проверка|проверки|критерии|критерии проверки|weryfikacja|kryteria|kryteria testów",
    "verificatie|controle|controles|criteria|testcriteria|verifica|verifiche|criteri",
    "criteri di accettazione|criteri di test|test kriterleri|kontroller|doğrulama|kriterler",
    "kabul kriterleri|kiểm tra|xác minh|tiêu chí|tiêu chí chấp nhận|verifikasi|pengujian|kriteria",
    "kriteria penerimaan|перевірка|перевірки|критерії|критерії перевірки|критерії тестування",
)
"""Labels below a heading with a state whose boxes say the same."""

WORK = compile_both(
    r"\b(?:(?:week|day|month|woche|tag|semaine|jour|semana|d[ií]a|неделя|день|tydzień|dzień|dag"
    r"|settimana|giorno|hafta|gün|tuần|ngày|minggu|hari) [0-9]+"
    r"|to-?dos?|tasks?|next|remaining|pending|planned|upcoming|missing|outstanding|deferred"
    r"|backlog|bugs|fix(?:es)?|improvements|left|unfinished|follow-?ups?|unresolved|still open"
    r"|open (?:work|items|tasks|points|issues|bugs)|known issues"
    r"|tech(?:nical)? debt|immediate(?:ly)?"
    r"|aufgaben|offene?|nächste|fehlende?|tâches|à faire|prochaine?s?|restante?s?|tareas"
    r"|pendientes?|próxim[oa]s|faltantes?|por hacer|tarefas|pendentes?|a fazer"
    r"|задач[аи]?|осталось|следующ\w+|сделать|zadania|następne|pozostał\w+|do zrobienia"
    r"|taken|volgende|nog te|openstaande|resterende?|attività|rimanenti|prossim[oiae]|da fare"
    r"|tugas|tersisa|selanjutnya|berikutnya|görev(?:ler)?|kalan|yapılacak(?:lar)?|sonraki"  # noqa: RUF001
    r"|nhiệm vụ|công việc|còn lại|cần làm|tiếp theo|завдан\w+|залиши\w+|наступн\w+|зробити)\b"
    r"|待|后续|任务|任務|未完|下一步|剩余|计划中|タスク|やること|残り?作業|残件|未対応|課題|予定|今後|立即|即将"
    r"|할 일|남은|작업|예정|다음",
    re.IGNORECASE,
)
"""Words in headings that show work, where none of it was read."""
NO_WORK = compile_both(
    r"\b(?:formats?|conventions?|rules|guidelines|dependencies|legend|notes|strategy|workflow"
    r"|process|instructions|template|overview|summary|examples?|order|types?|definitions?"
    r"|statistics|stats|opportunities|post-mvp|count|coverage|estimates?|metrics|tally|priorities|numbering|commentary"
    r"|left-|next\.?js|quick start|next session"
    r"|bugs? fixed|fix(?:es)? (?:applied|made)|all tasks|every task|not)\b"
    r"|优先级|统计|说明|概述|概要|개요|现状|总结|汇总|サマリー|まとめ|요약|格式|规则|依赖|顺序|工作量|優先度|凡例|形式|우선순위|형식|통계",
    re.IGNORECASE,
)
"""Words in headings that are about work, and hold none."""

ORDER = compile_both(
    r"(?:[\w'-]+ ){0,2}(?:implementation|execution|priority|recommended|suggested|proposed|build"
    r"|development|work|task|dependency|rollout|delivery|migration|merge|pr|release|feature|fix"
    r"|phase) (?:order|sequence)|(?:[\w'-]+ )?order of (?:work|execution|implementation|tasks)"
    r"|.*(?:实施|执行|实现|开发|推荐|建议|任务)顺序|.*(?:実装|実施|作業|推奨|開発)の?順序?"
    r"|.*(?:구현|작업|개발|실행|진행|권장) 순서|.*reihenfolge|ordre (?:d'|de |des |recommandé).*"
    r"|orden (?:de |recomendado|sugerido).*|ordem (?:de |recomendada|sugerida).*"
    r"|(?:рекомендуемый |предлагаемый )?порядок .*|(?:zalecana |sugerowana )?kolejność .*"
    r"|.*volgorde|ordine (?:di |consigliato).*|.*(?:uygulama|geliştirme) sırası"  # noqa: RUF001
    r"|thứ tự .*|urutan .*"
)
"""Whole headings of lists that put tasks in an order, where the plan has boxes for them."""

NEXT_STEPS = compile_both(
    r"(?:(?:immediate|recommended|suggested|proposed|possible) )?next (?:steps|actions)"
    r"|immediate (?:actions|steps)"
    r"|(?:立即|近期)?下一步(?:计划|行动|工作|建议)?|立即行动|后续步骤|次のステップ|다음 단계"
    r"|nächste schritte|prochaines étapes|próximos pasos|próximos passos|следующие шаги"
    r"|дальнейшие шаги"
    r"|następne kroki|kolejne kroki|volgende stappen|vervolgstappen|prossimi passi"
    r"|sonraki adımlar|các bước tiếp theo"  # noqa: RUF001
    r"|langkah (?:selanjutnya|berikutnya)|наступні кроки|подальші кроки"
)
"""Whole headings of lists that name the first of the tasks again, where the plan has boxes."""

_UNITS_OF_WORK = (
    r"(?:(?:sub)?tasks?|stor(?:y|ies)|workstreams?|phases?|iterations?|loops?|sessions?|commits?"
    r"|steps?|prs?|pull requests?|changes?|milestones?|features?|tickets?|issues?|releases?)"
)
RECURRING = compile_both(
    rf"\W*(?:(?:for|before|after|during|at|in|on|with|upon)\b.{{0,25}}\b(?:each|every)(?: [0-9]+)?"
    rf" {_UNITS_OF_WORK}\b|(?:each|every|per) {_UNITS_OF_WORK}\b"
    r"|(?:execution|working|ground|loop|agent|session|general|golden) rules\b"
    r"|working agreements?\b|session check ?points?\b"
    r"|每(?:个任务|次提交|次迭代|次会话|个阶段)|各タスク|コミットごと|각 작업|작업마다|커밋마다"
    r"|(?:für|nach|vor|bei) jede[rsmn]? (?:aufgabe|phase|iteration|commit|schritt|sitzung)"
    r"|(?:pour|après|avant) chaque (?:tâche|phase|itération|commit|étape|session)"
    r"|(?:para|por|después de|antes de|após|depois de) cada (?:tare[af]|fase|iteraci|itera|commit)"
    r"|(?:для|после|перед|к) кажд\w+ (?:задач|этап|фаз|итерац|коммит|шаг)"
    r"|(?:dla|po|przed) każd\w+ (?:zadani|faz|etap|iteracj|commi|krok)"
    r"|(?:voor|na|bij) elke? (?:taak|fase|iteratie|commit|stap|sessie)"
    r"|(?:per|dopo|prima di) ogni (?:attività|compito|fase|iterazione|commit|passo)"
    r"|her (?:görev|aşama|commit|adım)"  # noqa: RUF001
    r"|(?:cho|sau|trước) mỗi (?:công việc|nhiệm vụ|bước|commit)"
    r"|(?:untuk|setelah|sebelum) setiap (?:tugas|tahap|commit|langkah))",
    re.IGNORECASE,
)
"""Beginnings of headings and labels of what is done again with each task, and is no task itself."""

PARTLY_DONE = compile_both(
    r"\b(?:complete[d]?|done|finished|implemented|shipped|erledigt|umgesetzt|abgeschlossen|terminée?s?"
    r"|completad[oa]s?|hech[oa]s?|concluíd[oa]s?|выполнен\w*|реализован\w*|завершен\w*|готов\w*"
    r"|виконан\w*|завершен\w*|ukończon\w+|wykonan\w+|voltooid|afgerond)\b|已实现|已完成|完了|완료",
    re.IGNORECASE,
)
"""Words for what is done in a status of a whole document, which may name a part of it."""

PARTS_DONE = re.compile(
    r"\b(?:phases?|stages?|steps?|sprints?|milestones?|tasks?) [0-9]+"
    r"(?:\s*(?:[\u2013\u2014,-]|to|through|and)\s*[0-9]+)* (?:is|are|was|were|ha(?:s|ve) been)"
    r" (?:now |already |all )?(?:built|done|completed?|finished|implemented|shipped|live)\b",
    re.IGNORECASE,
)
"""A sentence that says that parts of the work are done."""

ALL_DONE = compile_both(
    r"[\W_]*(?:all (?:of the |the )?(?:tasks|items|phases|steps|work|stories)"
    r" (?:is |are |have been )?(?:now )?(?:complete|completed|done|finished|implemented)"
    r"|(?:execution|implementation|project|plan) (?:is )?(?:complete|completed|finished)"
    r"|(?:所有|全部)任务(?:已|均已|都已)?完成|全タスク完了|모든 (?:작업|태스크) 완료"
    r"|alle aufgaben (?:sind )?erledigt|toutes les tâches (?:sont )?terminées"
    r"|todas las tareas (?:están )?(?:completadas|terminadas)"
    r"|todas as tarefas (?:estão )?concluídas|все задачи (?:выполнены|завершены)"
    r"|wszystkie zadania (?:są )?(?:ukończone|wykonane)"
    r"|alle taken (?:zijn )?(?:klaar|voltooid))[\W_]*",
    re.IGNORECASE,
)
"""Whole lines that say that everything is done."""

OUT_OF_SCOPE = compile_both(
    r"(?:explicitly )?deferred\b.*|stretch goals?|ice ?box|parking lot|someday.*|wish ?list"
    r"|(?:explicitly )?(?:out of scope|not in scope|non goals|won't do|wont do)\b.*"
    r"|what (?:not to do|we (?:won't|will not|are not) do(?:ing)?)\b.*|(?:do not|don't) do\b.*"
    r"|不做的?.*|范围外.*|非目标.*|対象外.*|やらないこと.*|.*スコープ外.*"
    r"|범위 (?:외|밖).*|하지 않을.*"
    r"|nicht im umfang.*|außerhalb des umfangs.*|nicht ziele|hors (?:périmètre|scope).*"
    r"|fuera de alcance.*|qué no hacer.*|fora d[eo] escopo.*|o que não fazer.*"
    r"|вне (?:рамок|области|scope).*|что не (?:делаем|делать|входит).*|poza zakresem.*"
    r"|buiten scope.*|fuori (?:ambito|scope).*|cosa non fare.*|di luar (?:lingkup|cakupan).*"
    r"|kapsam dışı.*|ngoài phạm vi.*|поза (?:межами|рамками|scope).*|що не (?:робимо|входить).*"  # noqa: RUF001
)
"""Whole headings of what is not to be done: no tasks, and optional ones with a box."""

MAYBE = compile_both(
    r"[(\u2013\u2014:-]\s*(?:stretch goals?|maybe|perhaps|vielleicht|peut-être|quizás|talvez"
    r"|возможно|можливо|може|misschien|forse|mungkin|belki|có thể|也许|可能|かも|아마)\W*\Z",
    re.IGNORECASE,
)
"""Ends of headings of what is optional."""

LATER = {
    "optional": _names("可选|选做|任意|선택|선택 사항|optionnel|facultatif|opcional|опционально")
    | _names("wahlfrei|tùy chọn|tuỳ chọn|không bắt buộc|опціонально|pilihan|i\u0307steğe bağlı")  # noqa: RUF001
    | _names("необов'язково|необов\u2019язково")  # noqa: RUF001
    | _names("необязательно|opcjonalne|opcjonalnie|optioneel|opzionale|opsional|isteğe bağlı"),  # noqa: RUF001
    "future": _names("未来|将来|향후|zukunft|zukünftig|futur|futuro|в будущем|будущее|przyszłość")
    | _names("na przyszłość|toekomst|masa depan|gelecek|tương lai|post mvp|after mvp|after the mvp")
    | _names("beyond mvp|beyond the mvp|nach dem mvp|après le mvp|después del mvp|depois do mvp")
    | _names("после mvp|po mvp|na de mvp|dopo l'mvp|sau mvp|setelah mvp|mvp之后|mvp 이후|mvp以降")
    | _names("未来扩展|未来改进|未来优化|未来功能|将来の拡張|将来の改善|今後の拡張")
    | _names("향후 개선|향후 개선 사항|향후 확장")
    | _names("zukünftige erweiterungen|künftige erweiterungen|zukünftige verbesserungen")
    | _names("améliorations futures|évolutions futures|mejoras futuras|extensiones futuras")
    | _names("melhorias futuras|extensões futuras|будущие улучшения|будущие расширения")
    | _names("przyszłe rozszerzenia|przyszłe ulepszenia|toekomstige uitbreidingen")
    | _names("toekomstige verbeteringen|sviluppi futuri|miglioramenti futuri|mở rộng tương lai")
    | _names("майбутнє|на майбутнє|у майбутньому|майбутні покращення|майбутні розширення|після mvp")  # noqa: RUF001
    | _names("gelecek geliştirmeler|pengembangan selanjutnya|cải tiến tương lai"),
    "later": _names("以后|之后|稍后|後で|나중에|나중|추후|später|plus tard|más adelante|más tarde")
    | _names("mais tarde|depois|позже|потом|później|na później|più tardi|in seguito|nanti|sonra")
    | _names("sau|sau này|пізніше|потім|згодом"),
}
"""Names of optional sections in other languages than English, by the English one."""

PRESENT = compile_both(
    r"(?:current|existing|present) (?:\w+ ){0,2}(?:state|status|situation|progress)"
    r"|(?:当前|目前)(?:进度|进展)|現在の進捗|현재 진행 상황"
    r"|what (?:already (?:exists|works)|exists)|what we (?:already )?have"
)
"""Whole headings that describe what is there: prose, too."""

ANALYSES = compile_both(
    r"(?:current|existing|present|as is) (?:\w+ ){0,2}(?:state|situation|implementation)"
    r"(?: (?:analysis|assessment|overview|summary|review|audit))?"
    r"|(?:current )?(?:codebase|code|gap|state|status|situation) (?:analysis|assessment|audit)"
    r"|(?:当前|目前)?(?:现状|状态|代码|架构)(?:分析|评估)|现状|(?:現在の)?(?:現状|状況)(?:分析)?"
    r"|현황(?: 분석)?|현재 (?:상태|상황)(?: 분석)?|ist (?:zustand|analyse)|état actuel"
    r"|analyse de l'existant|(?:análisis del )?estado actual|situación actual"
    r"|(?:análise d[ao] )?(?:estado|situação) atual|текущее состояние|анализ текущего состояния"
    r"|stan obecny|obecny stan|huidige (?:situatie|toestand)"
)
"""Whole headings of analyses, whose groups, such as ``Missing``, are findings and no lists."""

GROUPS = _names(
    "what works|what's working",
    "already implemented|already done|already in place|already built|implemented|working",
    "in place|已实现|已有功能|实现済み|구현된 것|déjà implémenté|ya implementado|já implementado",
    "what exists|what already exists|exists|already exists|lo que existe|lo que ya existe",
    "ce qui existe|was existiert|o que existe|o que já existe|что есть|co istnieje|wat er is",
    "bereits umgesetzt|bereits vorhanden|уже реализовано|już zrobione|al gebouwd",
)
"""Whole headings that are the state of a group, and so no task: ``✅ Already implemented``."""

FEATURES = _names(
    "about|examples|files|glossary|history|instructions|links|metrics|questions|references",
    "resources|rules|template|timeline|tips|usage|warnings|workflow|environment|changelog",
    "verlauf|historique|historial|histórico|история|historia|geschiedenis|历史|历史记录|履歴|기록",
)
"""Names of prose that a part of the product may have: ``1.1 History`` in a phase is a task."""

_ARTEFACTS = (
    r"(?: [\w-]+){0,2} (?:scripts?|code(?:base)?|components?|features?|functionality|files?|tools?"
    r"|implementations?|infrastructure|modules?|endpoints?|apis?|tests?|services?|systems?|assets"
    r"|resources|work|setup|structure|architecture)"
)
EXISTING = compile_both(
    rf"(?:finished|completed|existing|implemented|available|(?:already|what is) [\w-]+){_ARTEFACTS}"
    r"|(?:已完成|已实现|已有|现有|既有)的?\w{0,10}(?:脚本|代码|功能|组件|模块|文件|工具|接口|实现|系统|资源|工作)"
    r"|(?:既存|実装済み|完了した)の?\w{0,10}(?:スクリプト|コード|機能|モジュール|ファイル|実装)"
    r"|(?:기존|완료된|구현된) [\w ]{0,12}(?:스크립트|코드|기능|모듈|파일|구현)"
)
"""Whole headings of parts that are there: ``1.1 Finished scripts``."""

PROSE_LAST_WORDS = (
    " completion notes",
    " questions",
    " instructions",
    "guideline",
    "guidelines",
    "conventions",
    "principles",
    "references",
)

DESIGN_LAST_WORDS = (
    " algorithm",
    " algorithms",
    " architecture",
    " architectuur",
    " architektur",
    " data flow",
    " pipeline",
)
"""The same of headings that are no tasks themselves; what is numbered below describes a design."""

RULES = compile_both(
    r"\b(?:principles|rules|strategy|protocol|workflow|philosophy|policy|policies|r[eè]gles|regeln"
    r"|spelregels|reglas|regras|правила|zasady)\b|原则|规则|規則|ルール|규칙|원칙",
    re.IGNORECASE,
)
"""Words in headings of lists that nobody takes for tasks."""

OPEN_WORK = re.compile(
    r"what(?:'s| is)? (?:remains?|remaining|left|next|missing)(?: to (?:do|be done))?"
    r"|missing(?: [\w-]+)? (?:modules?|components?|endpoints?|pages|screens|implementations?"
    r"|services?)"
    r"|(?:still|left|remaining|things) (?:left )?to (?:do|be done)|to be done|not done yet"
    r"|(?:remaining|outstanding|unfinished|upcoming|unimplemented|planned)(?: [^\W\d_][\w'-]*){1,3}"
    r"|next (?:[\w'-]+ )?(?:extensions?|features?|improvements?|releases?|versions?|enhancements?)"
    r"|still open|not (?:yet )?(?:implemented|built|started)|unimplemented|未実装|未开发|未開発"
    r"|следующие (?:инкременты|этапы|задачи|доработки)"
    r"|nächste (?:ausbaustufen|erweiterungen|aufgaben)"
    r"|próxim[oa]s (?:ampliaciones|tareas|mejoras|tarefas|melhorias)"
    r"|(?:次の|今後の|残りの).{0,8}(?:拡張|開発|作業|改善|対応|実装|追加|課題|機能)"
    r"|(?:下一步|后续|后期|接下来)的?.{0,6}(?:开发|扩展|改进|优化|实现|实施)"
    r"|(?:다음|남은|향후) .{0,8}(?:개발|확장|개선|작업|구현|기능)"
)
"""Whole headings that say that what is below is still to do."""

TASKS_LAST_WORDS = (
    " action items",
    " next steps",
    " open items",
    " pending tasks",
    " remaining tasks",
    " sprint backlog",
    " task list",
    " todo list",
    " todos",
    " work items",
)
"""The last words of headings that hold tasks, such as ``Immediate next sprint backlog``."""

STEPS = compile_both(
    r"\W*(?:(?:phase|milestone|sprint|step|stage|batch|track|workstream|wave|phasen?|meilenstein"
    r"|schritt|étape|jalon|fase|hito|paso|etapa|marco|passo|этап|фаза|шаг|спринт|веха|faza|etap|krok"
    r"|етап|крок|віха|aşama|adım"  # noqa: RUF001
    r"|stap|mijlpaal|giai đoạn|bước|tahap|langkah|m[0-9]{1,2})\b"
    r"|第[一二三四五六七八九十0-9]+[阶階步]|阶段|階段|步骤|フェーズ|ステップ|"
    r"里程碑[ ]?[一二三四五六七八九十0-9]|マイルストーン|[0-9]+ ?단계|단계|스프린트|마일스톤)"
)
"""Beginnings of headings whose numbered lists are tasks in a plan without any box."""

EXECUTION = _names(
    "execution steps|steps to execute|order of execution",
    "执行步骤|执行顺序|執行步驟|実行手順|実行ステップ|실행 단계|실행 순서",
    "ausführungsschritte|étapes d'exécution|pasos de ejecución|passos de execução",
    "шаги выполнения|порядок выполнения|kroki wykonania|uitvoeringsstappen",
)
"""Whole headings of the steps to execute, beside which parts of phases only describe them."""

STAGES = _names(
    "design|architecture|requirements|analysis|research|technical design|system design|data model",
    "data models|database design|api design|ui design|planning|scope|prerequisites|dependencies",
    "resources|schema|设计|架构|需求|需求分析|設計|要件|설계|entwurf|conception|diseño|projeto|проектирование",
)
"""What holds no tasks in general, and is a stage of the work with a number: ``2. Design``."""

STEP_SECTIONS = EXECUTION | _names(
    "phases of execution|execution phases|phases of implementation|phases of development",
    "development phases|project phases|delivery phases|build phases|rollout phases",
    "migration phases|development stages|execution stages|delivery plan|rollout plan|build order",
    "work sequence|sequence of work|work order|development sequence|execution sequence",
    "build plan|build steps|build sequence|rollout steps|delivery steps|development steps",
    "action plan|development plan|execution order|execution plan|fix plan|implementation order",
    "implementation phases|implementation plan|implementation roadmap|implementation sequence",
    "implementation stages|implementation steps|migration plan|migration steps|order of work",
    "phases|roadmap|project roadmap|product roadmap|development roadmap|stages|steps",
    "milestones|next milestones|increments|next increments|next working increments|iterations",
    "next iterations|sprints|next sprints|work packages|next features|epics",
    "build path|implementation path|development path|migration path|path forward",
    "work plan|changes|key changes|proposed implementation|changes needed|changes required|fixes",
    "fixes needed|fixes required|planned changes|planned fixes|proposed changes|proposed fixes",
    "modifications|modifications needed|modifications required|planned modifications",
    "proposed modifications|recommended fixes|required changes|required fixes",
    "required modifications",
    "实施步骤|实施顺序|下一步实施顺序|后续实施顺序|实施计划|实现步骤|修复计划|执行计划|开发计划|开发阶段|开发步骤|工作计划|實作步驟",
    "实施阶段|実装フェーズ|開発フェーズ|개발 단계|진행 단계|작업 단계",
    "実装ステップ|実装手順|実装計画|作業手順|作業計画|구현 단계",
    "구현 계획|로드맵|개발 로드맵|개발 계획|작업 계획|작업 순서",
    "umsetzungsplan|umsetzungsschritte|arbeitsschritte|plan d'action|étapes",
    "étapes d'implémentation",
    "pasos|plan de acción|plan de implementación|plano de ação|plano de implementação",
    "etapas|passos",
    "план разработки|план реализации|план работ|план работы|план выполнения|план внедрения",
    "план исправлений|план действий|дорожная карта|порядок работ",
    "шаги|этапы|шаги реализации|этапы реализации",
    "plan wdrożenia|plan implementacji|plan działania|plan prac|plan realizacji|plan naprawy|kroki",
    "etapy|fazy|fazy realizacji|kroki implementacji|etapy wdrożenia",
    "actieplan|stappenplan|plan van aanpak|implementatieplan|werkplan|herstelplan|stappen|fases",
    "fasen|uitvoeringsplan",
    "passi di implementazione|piano di implementazione|piano d'azione|uygulama planı",  # noqa: RUF001
    "uygulama adımları|kế hoạch triển khai|các bước thực hiện|các bước triển khai|lộ trình",  # noqa: RUF001
    "langkah implementasi|rencana implementasi|langkah pengerjaan|tahapan|tahapan implementasi",
    "rencana kerja|uygulama plani|yol haritası|aşamalar|adımlar|fasi|passi|piano di lavoro",  # noqa: RUF001
    "план розробки|план реалізації|план робіт|план роботи|план виконання|план впровадження|кроки",
    "план виправлень|план дій|дорожня карта|порядок робіт|етапи|кроки реалізації|етапи реалізації",
)
"""Whole headings that do the same."""

FIX_PLANS = _names(
    "fix plan|bug fix plan|action plan|improvement plan|refactoring plan|修复计划|改进计划",
    "修正計画|改善計画|수정 계획|plan d'action|plan de acción|plano de ação",
    "план исправлений|план исправления|план действий|plan naprawy|plan działania|plan poprawek",
    "actieplan|herstelplan|verbeterplan|plan van aanpak",
)
"""Titles whose numbered chapters are tasks in a plan without boxes."""

_NUMBER = r"[ ]?[#\u2116]?[0-9]+(?:[.-][0-9]+)*[a-z]?\b"
TASK_NAME = compile_both(
    r"[^\w\[]*(?:[0-9]+(?:\.[0-9]+)*[.)]?[ ]+)?"
    rf"(?:(?:sub-?)?(?:task|story|ticket|aufgabe|tâche|tarea|tarefa|задача|zadanie|taak|attività|tugas"
    rf"|görev|nhiệm vụ|завдання)(?:-?{_NUMBER}|[ ][a-z]{{2,10}}-[0-9]{{1,5}}\b)"
    r"|t-?[0-9]{1,4}\b(?=[ :.\u2013\u2014-])"
    rf"|(?:任务|任務|タスク|작업|태스크){_NUMBER})"
)
"""Beginnings of headings that are named like tasks: ``Task 1: …``, ``T001: …``."""

STEP_NAME = compile_both(
    r"[^\w\[]*(?:[0-9]+(?:\.[0-9]+)*[.)]?[ ]+)?"
    r"(?:phase|milestone|sprint|step|stage|slice|epic|iteration|wave|fix|patch|change|batch"
    rf"|track|workstream|schritt|étape|paso|etapa|passo|fase|этап|фаза|шаг|спринт|faza|etap|krok|stap"
    rf"|giai đoạn|bước|tahap|langkah|aşama|adım|етап|крок){_NUMBER}"  # noqa: RUF001
    r"(?! (?:to|and|or|execution|goals?|overview|summary|success|deliverables?|notes?"
    r"|(?:\w+ )?criteria)\b)"
    r"|[^\w\[]*第[一二三四五六七八九十0-9]+[阶階步]"
    r"|[^\w\[]*m[0-9]{1,2}[a-z]?(?=\s*[:：—–]|\s+-\s|\s+[^\W\d_])"  # noqa: RUF001
    r"|[^\w\[]*[0-9]+ ?단계(?=\Z|[\s:：.(—–-])"  # noqa: RUF001
    r"|[^\w\[]*(?:阶段|階段|步骤|步驟|里程碑|マイルストーン|마일스톤|フェーズ|ステップ)[ ]?"
    r"[一二三四五六七八九十0-9]+"
    r"(?=\Z|[\s:：、.(（—–-])"  # noqa: RUF001
)
"""Those that hold tasks elsewhere, but are tasks themselves where nothing else is one."""

DECISIONS = compile_both(
    r"\W*(?:\w+ )?(?:decision|option|question|alternative|approach|scenario|assumption|principle"
    r"|adr|rfc|决策|问题|方案|entscheidung|décision|decisión|решение)s?"
    r"(?:[ #-]{0,2}[0-9]|[ ][A-E](?=\s*(?:[:(\u2013\u2014]|-\s|\Z)))",
    re.IGNORECASE,
)
"""Beginnings of headings that are no work, whatever state they have: ``Decision 1: … ✅``."""

STATUS_LABELS = (
    "status|状态|狀態|状態|ステータス|상태|statut|état|estado|situação|статус|состояние"
    "|toestand|trạng thái|stato|durum|stan|стан"
)
"""Labels of the state of a task, as a pattern, in lower case."""

STEP_LABEL = re.compile(
    r"\W*(?:Phase|PHASE|Milestone|Track|Workstream|Stage|Sprint|Wave|Batch|Fase|Etapa|Étape) "
    r"(?:[0-9]{0,3}[A-Z][A-Z0-9]{0,5}|[IVX]{1,5}|[Oo]ne|[Tt]wo|[Tt]hree|[Ff]our|[Ff]ive|[Ss]ix)"
    r"(?=\s*(?:[:(\u2013\u2014]|-\s|\Z))"
)
"""The same with a label for a number, as it is written: ``Phase A: …``, ``Phase PWA: …``."""

COUNTED = re.compile(
    r"\W*(?=[^\W\d_]{1,20}[ #-]{0,2}[0-9])"
    r"(?!(?:option|question|risk|decision|scenario|example|alternative|appendix|rule|principle"
    r"|figure|finding|requirement|assumption|note|table|chapter|section|lesson|tip|faq|version"
    r"|python|node|layer|level|case|type|class|year|adr|rfc|approach|tenet|pillar|insight|fact)s?\b)"
    r"([^\W\d_]{2,20}|(?-i:[A-CEFI-PS-Z])(?=[0-9]))[ #-]{0,2}(?:[0-9]{1,3}|0[0-9]{3})[a-z]?"
    r"(?=\s*(?:[:.)—–·]|-\s))",  # noqa: RUF001
    re.IGNORECASE,
)
"""Beginnings of headings that count what is to be done: ``Commit 01: …``, ``A1. …``."""

UNIT_NAME = compile_both(
    r"[^\w\[]*(?:[0-9]+(?:\.[0-9]+)*[.)]?[ ]+)?"
    r"(?:(?:hot)?fix|patch|change|bug|issue|defect|problem|correction|improvement|item|action|commit"
    r"|refactoring|cleanup|korrektur|fehler|änderung|verbesserung|correctif|correction|amélioration"
    r"|corrección|arreglo|mejora|correção|melhoria|исправление|ошибка|изменение|улучшение|poprawka"
    rf"|błąd|zmiana|fout|wijziging|修复|补丁|问题|修正|不具合|バグ|버그|수정|개선){_NUMBER}",
    re.IGNORECASE,
)
"""Beginnings of headings that are one piece of work, and no part of it: ``Patch 1: …``."""

NUMBERED = re.compile(r"\W*(?:[xX~]\]\W*)?(?:[0-9]+\.[0-9]+|[0-9]{1,3}[.)、](?=\s|[^\W0-9]))")
"""Beginnings of headings that divide one of those, and of a section for tasks."""

PRIORITIES = {
    "P0": _names(
        "高优先级|最高优先级|较高优先级|高优先|紧急|優先度高|優先度: 高|高優先度|높은 우선순위",
        "우선순위 높음",
        "hohe priorität",
        "haute priorité|priorité haute|alta prioridad|prioridad alta|alta prioridade",
        "prioridade alta",
        "высокий приоритет|критический приоритет|критично|срочно|wysoki priorytet|priorytet wysoki",
        "wysokie priorytety|pilne|hoge prioriteit|prioriteit hoog",
        "alta priorità|priorità alta|priorità critica|prioritas tinggi|yüksek öncelik|acil",
        "yüksek öncelikli|ưu tiên cao|високий пріоритет|пріоритет високий|критичний пріоритет",
        "критично|терміново|mendesak|dringend|urgente|urgent|kritisch",
    ),
    "P1": _names(
        "中优先级|中等优先级|中优先|优先级中|優先度中|中優先度|중간 우선순위|mittlere priorität",
        "priorité moyenne",
        "prioridad media|prioridade média|média prioridade",
        "средний приоритет|приоритет средний|średni priorytet|priorytet średni|średnie priorytety",
        "gemiddelde prioriteit|prioriteit gemiddeld|media priorità|priorità media",
        "prioritas sedang|prioritas menengah|orta öncelik|orta öncelikli|ưu tiên trung bình",
        "середній пріоритет|пріоритет середній",
    ),
    "P2": _names(
        "低优先级|较低优先级|最低优先级|低优先|優先度低|低優先度|낮은 우선순위|niedrige priorität",
        "basse priorité|priorité basse",
        "baja prioridad|prioridad baja|baixa prioridade|prioridade baixa",
        "низкий приоритет|приоритет низкий|niski priorytet|priorytet niski|niskie priorytety",
        "lage prioriteit|prioriteit laag|bassa priorità|priorità bassa|prioritas rendah",
        "düşük öncelik|düşük öncelikli|ưu tiên thấp|низький пріоритет|пріоритет низький",
    ),
}

TITLE_COLUMNS = _names(
    "adım|paso|passo|schritt|étape|bước|langkah|stap",  # noqa: RUF001
    "task|title|name|story|item|feature|requirement|step|work|任务|任務|名称|功能|标题",
    "需求|要求|事项|タスク|項目|機能|작업|항목|기능|aufgabe|titel|tâche|titre|tarea|título|tarefa",
    "과제명|과제|작업명|タスク名|任务名|任务名称|工具",
    "задача|название|задание|функция|требование|шаг|zadanie|nazwa|funkcja|krok|tytuł|wymaganie",
    "taak|naam|stap|actie|functie",
    "attività|compito|funzionalità|görev|iş|özellik|công việc|nhiệm vụ|tính năng|hạng mục|cụm|việc",
    "tugas|fitur|nama|judul|завдання|задача|назва|функція|вимога|крок|elemento|nome|passaggio",
)
PART_COLUMNS = _names(
    "stage|phase|milestone|module|component|slice|increment|work package|阶段",
    "gate|sprint|iteration|epic|wave|batch|track|workstream",
    "模块|里程碑|ステップ|フェーズ|단계|etapa|fase|hito",
    "этап|фаза|модуль|etap|faza|moduł|onderdeel|phasen|meilenstein|étape|jalon|tahap|modul|aşama",
    "giai đoạn|mô đun|етап|fasi|modulo|módulo|marco|フェーズ名|マイルストーン|마일스톤",
)
"""Titles where no column of the others is there."""
WORK_COLUMNS = _names(
    "task|tasks|step|story|work|action|todo|sprint|stage|phase|milestone|任务|任務|任务名|任务名称",
    "タスク|タスク名|ステップ|フェーズ|阶段|里程碑|작업|작업명|과제|단계|aufgabe|schritt|tâche|étape",
    "tarea|paso|tarefa|passo|adım|görev|bước|công việc|nhiệm vụ|langkah|tugas|stap|taak|actie",  # noqa: RUF001
    "etapa|fase|hito|задача|задание|шаг|этап|фаза|zadanie|krok|etap|faza|attività|compito",
)
"""Those of the titles that are parts of the work and nothing else."""
NUMBER_COLUMNS = _names("#|no|no.|nr|nr.|n°|№|id|num|number|s/n|sr|序号|编号|番号|번호|순서|nº")
DETAIL_COLUMNS = _names(
    "description|what|what lands|what happens|theme|goal|deliverable|deliverables|scope|focus",
    "内容|내용|beschreibung|descripción|descrição|描述|说明|説明|설명",
    "описание|содержание|заметки|opis|treść|beschrijving|omschrijving|descrizione|deskripsi",
    "açıklama|mô tả|nội dung|опис|зміст",  # noqa: RUF001
)
"""Titles where there is none of these, else what they are about."""
STATE_COLUMNS = _names(
    "current status|current state|当前状态|目前状态|现状|进展|完成情况|完成状态|当前进度",
    "実装状況|現状|진행 상태|진행 상황|구현 상태|현재 상태|état actuel",
    "estado actual|estado atual|текущий статус|поточний стан|stan obecny",
    "huidige status|stato attuale",
    "status|state|done|done?|complete|completed|progress|状态|狀態|进度|状態|進捗|状況|상태|진행",
    "stand|zustand|état|statut|estado|situação",
    "статус|состояние|готово|прогресс|stan|postęp|gotowe|voortgang|toestand|gereed",
    "stato|durum|trạng thái|tiến độ|keadaan|kemajuan|ilerleme|avanzamento|стан|прогрес",
    "finished|implemented|completion|% done|% complete|% completed|done %|percent complete",
    "percent done|stat|✓|✅|☑|✔|[ ]|[x]|是否完成|完成|完了|완료|erledigt|terminé|hecho|feito",
    "сделано",
)
STATE_COLUMN = re.compile(
    r"(?:(?!http|test|response|error|order)\w+ ){1,2}(?:status|state|progress)"
)
"""Other names of them: ``Implementation status``."""
TOTALS = _names(
    "total|totals|sum|grand total|overall|总计|合计|總計|合計|계|합계|총계|summe|gesamt|insgesamt",
    "total général|somme|suma|total general|soma|total geral|итого|всего|разом|усього",
    "razem|łącznie",
    "totaal|totale|toplam|tổng|tổng cộng|jumlah|total keseluruhan",
)
"""First cells of rows that add up the others."""
PRIORITY_COLUMNS = _names(
    "priority|prio|severity|优先级|優先級|優先度|우선순위|priorität|priorité|prioridad|prioridade",
    "приоритет|приор|приор.|priorytet|prioriteit|priorità|prioritas|öncelik|ưu tiên|độ ưu tiên",
    "пріоритет",
)
