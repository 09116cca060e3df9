-- A component for status lines: what the loop does now, and whether it waits for you.

local M = {}

local WAITS = { ["question-waiting"] = true, ["run-blocked"] = true, ["breaker-open"] = true }

-- Whether a loop waits for you: a question, a blocker or an open breaker.
function M.needs_you()
  for _, remark in ipairs(vim.diagnostic.get()) do
    if WAITS[remark.code] then return true end
  end
  return false
end

-- Such as `iteration 2 of 9 · First task`; empty where no loop is shown.
function M.text(longest)
  local text = vim.g.ralph or ""
  if text == "" then return "" end
  return vim.fn.printf("%." .. (longest or 60) .. "S", (M.needs_you() and "! " or "") .. text)
end

return M
