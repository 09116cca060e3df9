rockspec_format = "3.0"
package = "ralph"
version = "scm-1"
source = { url = "." } -- made in this folder: luarocks make
description = {
  summary = "Run, watch and steer an autonomous coding loop in Neovim",
  license = "MIT",
  labels = { "neovim" },
}
dependencies = { "lua >= 5.1" }
build = {
  type = "builtin",
  modules = {
    ["ralph.commands"] = "lua/ralph/commands.lua",
    ["ralph.pick"] = "lua/ralph/pick.lua",
    ["ralph.statusline"] = "lua/ralph/statusline.lua",
  },
  copy_directories = { "doc", "plugin" },
}
