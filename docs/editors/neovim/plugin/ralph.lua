-- Ralph Loop in Neovim 0.11: shows a loop on its plan, and steers it with `:Ralph`.
--
-- It works alone, as ~/.config/nvim/plugin/ralph.lua. With the folder `lua/ralph` of the plugin
-- `:Ralph` has pickers and a floating log, too.

if vim.g.loaded_ralph then
  return
end
vim.g.loaded_ralph = true

local VERBS = { "answer", "note", "pause", "reset", "resume", "start", "status", "stop", "watch" }

local function one_line(text)
  return (text:gsub("%s+", " "))
end

-- In lines of some 70 characters.
local function wrap(text, indent)
  return (one_line(text):gsub("(" .. ("."):rep(60) .. "%S*)%s", "%1\n" .. indent))
end

local function show(text)
  vim.lsp.util.open_floating_preview(vim.split(text, "\n"), "", { border = "rounded" })
end

-- What is longer than the last line would wait for a key, in the middle of your typing.
local function tell(text, level)
  text = one_line(text)
  if vim.fn.strdisplaywidth(text) <= vim.v.echospace then
    vim.notify(text, level)
  elseif level >= vim.log.levels.WARN then
    show(wrap(text, ""))
  else
    vim.notify(vim.fn.printf("%." .. vim.v.echospace - 1 .. "S…", text), level)
  end
end

local function workspace(client)
  return client.workspace_folders[1].uri
end

-- ----------------------------------------------------------------------- lenses and the plan

-- Show what the agent wrote, unless there are changes of yours that are not saved yet.
local function reread(bufnr)
  if not vim.bo[bufnr].modified and vim.uv.fs_stat(vim.api.nvim_buf_get_name(bufnr)) then
    vim.cmd("silent! checktime " .. bufnr)
  end
end

local function show_lenses(client, bufnr)
  local params = { textDocument = { uri = vim.uri_from_bufnr(bufnr) } }
  client:request("textDocument/codeLens", params, vim.lsp.codelens.on_codelens, bufnr)
end

local function on_lens_refresh(_, _, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  for bufnr in pairs(client.attached_buffers) do
    reread(bufnr)
    show_lenses(client, bufnr)
  end
  return vim.NIL
end

-- Neovim 0.11 draws the hints of a text once: others that come for the same text need a new start.
local hints = {}

local function on_hints(err, result, ctx)
  local bufnr, was = ctx.bufnr, hints[ctx.bufnr]
  hints[bufnr] = { version = ctx.version, result = vim.deepcopy(result) }
  local is_new = was and was.version == ctx.version and not vim.deep_equal(was.result, result)
  if is_new and vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr }) then
    vim.lsp.inlay_hint.enable(false, { bufnr = bufnr })
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  else
    vim.lsp.handlers["textDocument/inlayHint"](err, result, ctx)
  end
end

-- -------------------------------------------------------------------------------- orders

local function show_state(state)
  local lines = {}
  for _, answer in ipairs(state.answers) do
    local text = wrap(answer.text, (" "):rep(13))
    table.insert(lines, ("%-12s %s"):format(answer.heading .. ":", text))
  end
  show(table.concat(lines, "\n"))
end

-- Every order goes through here, be it from a lens, a code action or `:Ralph`.
local function order(command, ctx)
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local params = { command = command.command, arguments = command.arguments }
  -- What became of it the server sends as a message.
  client:request("workspace/executeCommand", params, function(_, reply)
    if reply and reply.answers then show_state(reply) end
  end, ctx.bufnr)
end

local function on_message(_, params)
  local levels = { vim.log.levels.ERROR, vim.log.levels.WARN }
  tell("Ralph: " .. params.message, levels[params.type] or vim.log.levels.INFO)
end

-- ----------------------------------------------------------------------------------- log

local log -- the buffer `ralph://log`, once you asked for it

local function append(lines)
  if not (log and vim.api.nvim_buf_is_valid(log)) then
    return
  end
  local before = vim.api.nvim_buf_line_count(log)
  vim.bo[log].modifiable = true
  vim.api.nvim_buf_set_lines(log, -1, -1, false, lines)
  vim.api.nvim_buf_set_lines(log, 1, math.max(1, before + #lines - 10000), false, {})
  vim.bo[log].modifiable = false
  for _, window in ipairs(vim.fn.win_findbuf(log)) do
    if vim.api.nvim_win_get_cursor(window)[1] == before then
      vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(log), 0 })
    end
  end
end

local function on_event(_, params)
  local event = params.event
  local words = event.answer or event.question or event.message or event.reason or event.text
  words = words or event.why or (event.task or {}).title
  if words then
    local by = (event.by or "") ~= "" and " (" .. event.by .. ")" or ""
    append({ one_line(("-- %s %s: %s%s"):format(event.at:sub(12, 19), event.kind, words, by)) })
  end
end

local function on_messages(_, params)
  if (params.skipped or 0) > 0 then
    append({ "(" .. params.skipped .. " messages left out; `ralph watch` has them all)" })
  end
  for _, message in ipairs(params.messages) do
    if message.kind == "text" then
      append(vim.split(message.text, "\n", { trimempty = true }))
    elseif message.kind == "tool" and message.state == "started" then
      append({ one_line("> " .. message.name .. " " .. message.summary) })
    elseif message.kind == "file" then
      append({ one_line("> " .. message.action .. " " .. message.path) })
    end
  end
end

local watched = {} -- by client

local function split(bufnr)
  vim.api.nvim_open_win(bufnr, false, { split = "below", height = 10 })
end

-- `open` shows the buffer in a window where it is in none.
local function watch(client, open)
  if not (log and vim.api.nvim_buf_is_valid(log)) then
    log = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(log, "ralph://log")
    vim.api.nvim_buf_set_lines(log, 0, -1, false, { "What happens (--), and what the agent says:" })
    vim.bo[log].modifiable = false
  end
  if #vim.fn.win_findbuf(log) == 0 then
    open(log)
  end
  if not watched[client.id] then
    watched[client.id] = true
    local params = { workspace = workspace(client), messages = true }
    client:request("ralph/subscribe", params, function(err)
      append({ err and one_line(err.message) })
    end)
  end
end

-- ------------------------------------------------------------------------------- `:Ralph`

-- What the rest of the plugin adds, by verb.
local function more()
  local is_there, found = pcall(require, "ralph.commands")
  return is_there and found or {}
end

local function verbs()
  local all = vim.list_extend(vim.tbl_keys(more()), VERBS)
  table.sort(all)
  return all
end

vim.api.nvim_create_user_command("Ralph", function(input)
  local verb, text = input.args:match("^(%S+)%s*(.-)%s*$")
  local client = vim.lsp.get_clients({ name = "ralph", bufnr = 0 })[1]
    or vim.lsp.get_clients({ name = "ralph" })[1]
  if not client then
    return tell("Ralph: open the plan of a loop first", vim.log.levels.ERROR)
  elseif not vim.list_contains(verbs(), verb) then
    return tell("Ralph: one of " .. table.concat(verbs(), ", "), vim.log.levels.ERROR)
  elseif verb == "watch" then
    return watch(client, split)
  elseif more()[verb] then
    return more()[verb](client, { workspace = workspace(client), tell = tell, watch = watch })
  end
  local argument = { workspace = workspace(client) }
  if verb == "start" then
    argument.maxIterations = tonumber(text)
  elseif verb == "stop" then
    argument.now = text == "now"
  elseif text ~= "" then
    argument.text = text
  end
  if vim.list_contains({ "answer", "reset", "resume" }, verb) then
    argument["continue"] = true -- also a run whose engine is gone
  end
  local command = "ralph." .. (verb == "status" and "state" or verb)
  client:exec_cmd({ title = verb, command = command, arguments = { argument } }, { bufnr = 0 })
end, {
  nargs = "+",
  desc = "Steer the Ralph loop of this work tree",
  complete = function(lead, line)
    local offered = line:match("^%S+%s+%S*$") and verbs() or {}
    return vim.tbl_filter(function(verb) return vim.startswith(verb, lead) end, offered)
  end,
})

-- ------------------------------------------------------------------- progress, status line

vim.api.nvim_create_autocmd("LspProgress", {
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "ralph" then
      local value = event.data.params.value
      vim.g.ralph = value.message or value.title
      vim.cmd.redrawstatus()
    end
  end,
})

-- In a status line of your own, put the part in %{…} where you want it.
if vim.o.statusline == "" then
  vim.o.statusline = "%<%f %h%m%r  %{printf('%.60S', get(g:, 'ralph', ''))}%=%-14.(%l,%c%V%) %P"
end

-- As legible as comments: Neovim shows lenses as dim as white space.
vim.api.nvim_set_hl(0, "LspCodeLens", { link = "Comment" })
vim.api.nvim_set_hl(0, "LspCodeLensSeparator", { link = "Comment" })

-- ------------------------------------------------------------------------------ the server

vim.lsp.config("ralph", {
  cmd = vim.g.ralph_cmd or { "ralph-ls" },
  filetypes = { "markdown", "text", "json", "org" },
  root_dir = function(bufnr, on_dir)
    local name = vim.fs.basename(vim.api.nvim_buf_get_name(bufnr))
    -- Of all JSON only a plan of stories.
    if vim.bo[bufnr].filetype ~= "json" or name == "tasks.json" or name == "prd.json" then
      local plans = { "@fix_plan.md", "IMPLEMENTATION_PLAN.md", "prd.json", ".beads" }
      local root = vim.fs.root(bufnr, ".ralph") or vim.fs.root(bufnr, plans)
      if root then on_dir(root) end
    end
  end,
  workspace_required = true,
  capabilities = { workspace = { codeLens = { refreshSupport = true } } },
  handlers = {
    ["window/showMessage"] = on_message,
    ["workspace/codeLens/refresh"] = on_lens_refresh,
    ["textDocument/inlayHint"] = on_hints,
    ["ralph/event"] = on_event,
    ["ralph/messages"] = on_messages,
  },
  on_init = function(client)
    for _, name in ipairs(client.server_capabilities.executeCommandProvider.commands) do
      client.commands[name] = order
    end
    local remarks = vim.lsp.diagnostic.get_namespace(client.id)
    -- Below the line of the cursor and nowhere else: the ends of the lines belong to the lenses.
    local lines = {
      current_line = true,
      format = function(remark) return wrap(remark.message, "") end,
    }
    local shown = { virtual_lines = lines, virtual_text = false, severity_sort = true }
    vim.diagnostic.config(shown, remarks)
  end,
  on_attach = function(client, bufnr)
    local events = { "BufEnter", "InsertLeave", "TextChanged", "FileChangedShellPost" }
    vim.api.nvim_create_autocmd(events, {
      group = vim.api.nvim_create_augroup("ralph-" .. bufnr, {}),
      buffer = bufnr,
      callback = function() show_lenses(client, bufnr) end,
    })
    show_lenses(client, bufnr)
    -- Which iteration and commit finished a task; Neovim shows such hints only where they are on.
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
    -- Keys of your own, as you like them:
    -- vim.keymap.set("n", "<Leader>rr", vim.lsp.codelens.run, { buffer = bufnr })
    -- vim.keymap.set("n", "<Leader>ra", ":Ralph answer ", { buffer = bufnr })
    -- vim.keymap.set("n", "<Leader>rw", "<Cmd>Ralph watch<CR>", { buffer = bufnr })
  end,
})
vim.lsp.enable("ralph")
