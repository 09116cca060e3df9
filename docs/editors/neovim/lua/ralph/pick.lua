-- Choose one of some items: with fzf-lua or Telescope where one is installed, else with
-- `vim.ui.select`.

local function with_telescope(title, items, format, on_choice)
  local actions, state = require("telescope.actions"), require("telescope.actions.state")
  local function entry_of(item)
    local line = format(item)
    return { value = item, display = line, ordinal = line }
  end
  require("telescope.pickers")
    .new({}, {
      prompt_title = title,
      finder = require("telescope.finders").new_table({ results = items, entry_maker = entry_of }),
      sorter = require("telescope.config").values.generic_sorter({}),
      attach_mappings = function(prompt)
        actions.select_default:replace(function()
          local entry = state.get_selected_entry()
          actions.close(prompt)
          if entry then on_choice(entry.value) end
        end)
        return true
      end,
    })
    :find()
end

return function(title, items, format, on_choice)
  local function chosen(item)
    if item ~= nil then on_choice(item) end
  end
  local options = { prompt = title .. ": ", format_item = format, kind = "ralph" }
  local has_fzf, fzf = pcall(require, "fzf-lua.providers.ui_select")
  if has_fzf then
    fzf.ui_select(items, options, chosen)
  elseif pcall(require, "telescope") then
    with_telescope(title, items, format, chosen)
  else
    vim.ui.select(items, options, chosen)
  end
end
