"""The agent that works in the sweep's projects; ``projects`` puts ``GIVEN`` in front of it.

It does one task an iteration, in steps between which it can be killed, and does nothing twice that
it finds done. It prints a secret of its environment, as careless agents do.
"""

# mypy: ignore-errors
import fcntl
import json
import os
import re
import subprocess
import sys
import time

PROFILE, KEPT = GIVEN["profile"], GIVEN["kept"]
PROMPT = sys.stdin.read()
PLANS = {
    "spec": "IMPLEMENTATION_PLAN.md",
    "fixplan": "@fix_plan.md",
    "stories": "ralph/tasks.json",
}


def main():
    append(f"{KEPT}/ran", os.environ["RALPH_ITERATION_ID"] + "\n")
    print("using the token", os.environ.get("SWEEP_API_TOKEN"), flush=True)
    print("warning: token", os.environ.get("SWEEP_API_TOKEN"), file=sys.stderr, flush=True)
    step("agent-start")
    {"stories": stories, "beads": beads, "issue": issue}.get(PROFILE, markdown)()
    step("agent-end")


def markdown():
    plan = PLANS[PROFILE]
    left = re.findall(r"^- \[ \] (.*)$", read(plan), re.MULTILINE)
    if left:
        work(left[0])
        edit(plan, lambda text: text.replace(f"- [ ] {left[0]}\n", f"- [x] {left[0]}\n", 1))
    is_done = "- [ ]" not in read(plan)
    if is_done and PROFILE == "spec" and "PROJECT_COMPLETE" not in read(plan):
        edit(plan, lambda text: text + "\nPROJECT_COMPLETE\n")
    if left or is_done:
        commit(left[0] if left else "the end", plan)
    if is_done:
        print("All tasks are complete. The work is done.")
    report("COMPLETE" if is_done else "IN_PROGRESS", is_done)


def stories():
    plan = PLANS[PROFILE]
    mode = json.load(open(".ralph-active"))["iterationMode"]
    wanted = {"implement": None, "review": "needs_review", "review-fix": "changes_requested"}[mode]
    all_of_them = json.loads(read(plan))["userStories"]
    left = [one for one in all_of_them if not one["passes"] and one.get("reviewStatus") == wanted]
    if left:
        name, count = left[0]["id"], left[0].get("reviewCount") or 0
        if mode != "review":
            work(left[0]["title"])
            move(plan, name, reviewStatus="needs_review", reviewFeedback=None)
        elif count:
            move(plan, name, reviewStatus="approved", passes=True, reviewCount=count + 1)
        else:
            move(plan, name, reviewStatus="changes_requested", reviewCount=1, reviewFeedback="more")
        commit(f"{mode} {left[0]['title']}", plan)
    if all(one["passes"] for one in json.loads(read(plan))["userStories"]):
        print("<promise>COMPLETE</promise>")
    report("IN_PROGRESS", False)


def beads():
    found = re.search(r"^Task: (shop-\d+): (.*)$", PROMPT, re.MULTILINE)
    if found:
        work(found[2])
        commit(found[2])
        reason = "Acceptance criteria verified:\n- [x] it runs (make test - exit 0)"
        subprocess.run(["bd", "close", found[1], "--reason", reason], stdout=subprocess.DEVNULL)
    report("IN_PROGRESS", False)


def issue():
    left = [title for title in GIVEN["tasks"] if not os.path.exists(work_file(title))]
    if left:
        work(left[0])
    # A part that was written before a kill is committed now.
    unsaved = [title for title in GIVEN["tasks"] if os.path.exists(work_file(title))]
    for title in unsaved:
        if git("status", "--porcelain", "--", work_file(title)):
            commit(title)
    is_done = len(left) <= 1
    print("---CLARITY_STATUS---")
    print("STATUS:", "COMPLETE" if is_done else "IN_PROGRESS")
    print("FILES_MODIFIED: 1", f"EXIT_SIGNAL: {str(is_done).lower()}", sep="\n")
    print("---END_CLARITY_STATUS---", flush=True)


# ---------------------------------------------------------------------------------------- steps


def work(title):
    with open(work_file(title), "w") as file:
        file.write(f"{title} is done\n")
    step("agent-half")


def work_file(title):
    return "work/" + title.lower().replace(" ", "-") + ".txt"


def commit(title, *more):
    if not GIVEN["commits"]:
        return
    changed = [path for path in ("work", *more) if git("status", "--porcelain", "--", path)]
    if changed:
        # The user commits too, and two at once make one of them fail.
        for _ in range(20):
            git("add", "--", *changed)
            git("commit", "-q", "-m", f"agent: {title}", "--", *changed)
            if not any(git("status", "--porcelain", "--", path) for path in changed):
                break
            time.sleep(0.05)
    step("agent-committed")


def move(plan, name, **fields):
    def change(text):
        document = json.loads(text)
        next(one for one in document["userStories"] if one["id"] == name).update(fields)
        return json.dumps(document, indent=2) + "\n"

    edit(plan, change)


def edit(plan, change):
    """Both writers of the plan take turns, so that neither overwrites what the other one wrote."""
    with open(f"{KEPT}/plan.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = change(read(plan))
        with open(f"{KEPT}/plan.new", "w") as file:
            file.write(text)
        os.replace(f"{KEPT}/plan.new", plan)


def step(point):
    time.sleep(GIVEN["pace"])
    try:
        os.rename(f"{GIVEN['points']}/armed-{point}", f"{GIVEN['points']}/fired-{point}")
    except OSError:
        return
    time.sleep(3)


def report(status, is_done):
    print("---RALPH_STATUS---", f"STATUS: {status}", sep="\n")
    print(f"EXIT_SIGNAL: {str(is_done).lower()}", "TASKS_COMPLETED_THIS_LOOP: 1", sep="\n")
    print(
        "FILES_MODIFIED: 1", "TESTS_STATUS: PASSING", "---END_RALPH_STATUS---", sep="\n", flush=True
    )


def git(*words):
    ran = subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True)
    return ran.stdout.strip()


def read(path):
    with open(path) as file:
        return file.read()


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


main()
