-- The verbs of `:Ralph` that need more than one file.
--
-- Each takes the client and what plugin/ralph.lua lends: `workspace`, `tell(text, level)` and
-- `watch(client, open)`.

local function float(bufnr)
  local width = math.floor(vim.o.columns * 0.8)
  local height = math.floor((vim.o.lines - vim.o.cmdheight) * 0.7)
  local window = vim.api.nvim_open_win(bufnr, true, {
    relative = "editor",
    width = width,
    height = height,
    col = math.floor((vim.o.columns - width) / 2),
    row = math.floor((vim.o.lines - height) / 2) - 1,
    border = "rounded",
    style = "minimal",
    title = " Ralph: live log, q closes ",
  })
  vim.wo[window].wrap = true
  -- At the end the window follows what comes.
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(bufnr), 0 })
  vim.keymap.set("n", "q", function()
    -- Elsewhere the buffer may be in a split of yours, where `q` records.
    if vim.api.nvim_win_get_config(0).relative == "" then
      vim.api.nvim_feedkeys("q", "n", false)
    else
      vim.api.nvim_win_close(0, true)
    end
  end, { buffer = bufnr, nowait = true, desc = "Close the live log of the loop" })
end

-- Ask the server; what it refuses is shown.
local function ask(client, lent, method, params, on_result)
  params.workspace = lent.workspace
  client:request(method, params, function(err, result)
    if err then
      lent.tell("Ralph: " .. err.message, vim.log.levels.WARN)
    else
      on_result(result)
    end
  end)
end

local MARKS = { done = "x", inProgress = "~", blocked = "!", skipped = "-" }

local function task_line(task)
  local mark = task.asks and "?" or task.inWork and ">" or MARKS[task.state] or " "
  local words = (task.words or "") ~= "" and "  " .. task.words or ""
  return ("[%s] %s%s"):format(mark, task.title, words)
end

local function tasks(client, lent)
  ask(client, lent, "ralph/state", {}, function(state)
    local plan = state.plan or {}
    if #(plan.tasks or {}) == 0 then
      return lent.tell("Ralph: the plan has no tasks", vim.log.levels.INFO)
    end
    require("ralph.pick")("Tasks of the loop", plan.tasks, task_line, function(task)
      if not plan.uri then
        return lent.tell(("Ralph: %s is in %s"):format(task.id, plan.path), vim.log.levels.INFO)
      end
      local start = { line = task.line - 1, character = 0 }
      local at = { uri = plan.uri, range = { start = start, ["end"] = start } }
      vim.lsp.util.show_document(at, client.offset_encoding, { focus = true })
    end)
  end)
end

local function run_line(run)
  local when = (run.startedAt or run.name):sub(1, 16):gsub("T", " ")
  local worked_on = table.concat(run.tasks or {}, ", ")
  return ("%s  %-9s %d iterations  %s"):format(when, run["end"], run.iterations or 0, worked_on)
end

local function iteration_line(row)
  local outcome = row.outcome or "running"
  return ("#%d  %-11s %s"):format(row.iteration, outcome, row.task or "")
end

local function iterations(client, lent, run)
  ask(client, lent, "ralph/iterations", { run = run.key }, function(page)
    require("ralph.pick")("Iterations of " .. run.key, page.rows, iteration_line, function(row)
      local argument = { workspace = lent.workspace, run = run.key, start = row.start }
      local log = { title = "log", command = "ralph.showLog", arguments = { argument } }
      client:exec_cmd(log, { bufnr = 0 })
    end)
  end)
end

local function runs(client, lent)
  ask(client, lent, "ralph/runs", {}, function(history)
    if #(history.runs or {}) == 0 then
      return lent.tell("Ralph: no loop has run here yet", vim.log.levels.INFO)
    end
    require("ralph.pick")("Runs of the loop", history.runs, run_line, function(run)
      iterations(client, lent, run)
    end)
  end)
end

return {
  log = function(client, lent) lent.watch(client, float) end,
  runs = runs,
  tasks = tasks,
}
