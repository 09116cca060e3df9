"""Small agents for the command line's tests; each is a line or two of sh."""

from __future__ import annotations

TICK = r"""sed -i '0,/- \[ \]/s//- [x]/' @fix_plan.md; date +%N >>work; git add -A
git commit -qm 'Do the next task'"""
"""Do the next task of the plan, and commit."""

WORKER = f"""{TICK}
echo 'I did the task. 漢字'
echo ---RALPH_STATUS---
echo STATUS: IN_PROGRESS
echo TASKS_COMPLETED_THIS_LOOP: 1
echo FILES_MODIFIED: 2
echo TESTS_STATUS: PASSING
if grep -q '\\[ \\]' @fix_plan.md; then echo EXIT_SIGNAL: false; else echo EXIT_SIGNAL: true; fi
echo RECOMMENDATION: Go on
echo ---END_RALPH_STATUS---
grep -q '\\[ \\]' @fix_plan.md || echo 'All tasks are complete. The project is done.'"""
"""An honest agent: it works through the plan and says when it is done."""

IDLER = "echo 'I looked at it.'"

ASKER = "echo '<promise>DECIDE:Which database?</promise>'"

BLOCKED = "echo '<promise>BLOCKED:no key for the mail service</promise>'"
