"""Special places of a home folder and of the system, each with the reason.

Everything else in the home folder is readable and not writable; files that a program creates there
belong to the box. Paths are relative to the home folder. The folders of agents are in the catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HiddenPlace:
    """A place that is hidden in a box."""

    path: str
    why: str


KEYS = "private keys"
LOGIN = "a login"
HISTORY = "shell history, often with secrets"
PROFILE = "cookies and passwords of a browser"
SOCKET = "a socket to a service that acts for the user"

SECRETS = (
    *(HiddenPlace(path, KEYS) for path in (".ssh", ".gnupg", ".pki", ".password-store", ".age")),
    *(
        HiddenPlace(path, LOGIN)
        for path in (
            *(".aws", ".azure", ".netrc", ".authinfo", ".authinfo.gpg", ".git-credentials"),
            *(".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub"),
            *(".config/gcloud", ".config/doctl", ".config/hcloud", ".config/op", ".config/rclone"),
            *(".config/sops", ".config/age", ".config/netlify", ".config/configstore"),
            *(".docker/config.json", ".kube", ".config/containers/auth.json", ".config/helm"),
            *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip/pip.conf"),
            *(".gem/credentials", ".bundle/config", ".cargo/credentials", ".composer/auth.json"),
            *(".cargo/credentials.toml", ".m2/settings.xml", ".m2/settings-security.xml"),
            *(".gradle/gradle.properties", ".nuget/NuGet", ".config/NuGet", ".hex"),
            *(".terraform.d", ".terraformrc", ".vault-token", ".fly", ".heroku", ".oci", ".s3cfg"),
            *(".boto", ".snowflake", ".databrickscfg", ".pgpass", ".my.cnf", ".mylogin.cnf"),
            *(".config/hub", ".config/stripe", ".config/ngrok", ".ngrok2", ".cloudflared"),
            *(".local/share/com.vercel.cli", ".config/github-copilot", ".huggingface"),
            *(".cache/huggingface/token", ".kaggle", ".wrangler", ".config/.wrangler"),
            *(".thunderbird", ".config/evolution", ".local/share/evolution", ".mutt", ".msmtprc"),
        )
    ),
    *(
        HiddenPlace(path, "a store of passwords")
        for path in (
            *(".local/share/keyrings", ".local/share/kwalletd", ".kde/share/apps/kwallet"),
            *(".config/1Password", ".config/Bitwarden", ".config/keepassxc", ".cache/keepassxc"),
            *(".config/KeePass", ".electrum", ".bitcoin", ".ethereum"),
        )
    ),
    *(
        HiddenPlace(path, PROFILE)
        for path in (
            *(".mozilla", ".librewolf", ".config/google-chrome", ".config/google-chrome-beta"),
            *(".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge"),
            *(".config/vivaldi", ".config/opera", ".cache/mozilla", ".cache/google-chrome"),
            *(".cache/chromium", ".config/Slack", ".config/discord", ".config/Signal"),
            *("snap/firefox", "snap/chromium", ".var/app"),
        )
    ),
    *(
        HiddenPlace(path, HISTORY)
        for path in (
            *(".bash_history", ".zsh_history", ".zhistory", ".local/share/fish/fish_history"),
            *(".python_history", ".node_repl_history", ".psql_history", ".mysql_history"),
            *(".sqlite_history", ".rediscli_history", ".lesshst", ".viminfo", ".wget-hsts"),
            *(".local/share/atuin", ".local/share/zoxide", ".local/state/nvim", ".histfile"),
            *(".config/Code/User/History", ".config/Code/User/globalStorage"),
            ".config/Code/User/workspaceStorage",
        )
    ),
    *(
        HiddenPlace(path, SOCKET)
        for path in (
            *(".docker/run", ".docker/desktop", ".1password", ".bitwarden-ssh-agent.sock"),
            *(".orbstack", ".colima", ".lima", ".rd", ".gvfs", ".dbus", ".Xauthority"),
            *(".ICEauthority", ".local/share/containers", ".vnc"),
        )
    ),
)

TOOL_FOLDERS: Mapping[str, tuple[str, ...]] = {
    ".cache": (
        *("uv", "pip", "pipenv", "pypoetry", "go-build", "golangci-lint", "yarn", "pnpm", "npm"),
        *("node", "deno", "bun", "pre-commit", "mypy", "ruff", "ccache", "sccache", "bazel"),
        *("nix", "rattler", "typescript", "turbo", "esbuild", "prisma", "node-gyp"),
    ),
    ".npm": ("*",),
    ".cargo": ("registry", "git", ".package-cache*", ".global-cache*"),
    ".m2": ("repository", "wrapper"),
    ".gradle": ("caches", "daemon", "native", "notifications", "workers", "wrapper", ".tmp"),
    ".nuget": ("packages",),
    ".bun": ("install/cache",),
    ".local/share": ("pnpm/store", "virtualenv"),
    ".local/state": ("*",),
    "go": ("pkg",),
    ".yarn": ("berry", "cache"),
    ".ivy2": ("cache", "local"),
    ".sbt": ("boot",),
}
"""Caches of tools: the next build runs their content, so a box has its own."""

VARIABLES = frozenset(
    {
        *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GIT_ASKPASS", "GPG_AGENT_INFO"),
        *("GPG_TTY", "GNOME_KEYRING_CONTROL", "GNOME_KEYRING_PID", "KDE_SESSION_UID"),
        *("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_STARTER_ADDRESS"),
        *("DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "ICEAUTHORITY"),
        *("SESSION_MANAGER", "SWAYSOCK", "I3SOCK", "HYPRLAND_INSTANCE_SIGNATURE", "NIRI_SOCKET"),
        *("XDG_RUNTIME_DIR", "PULSE_SERVER", "PIPEWIRE_REMOTE", "AT_SPI_BUS_ADDRESS"),
        *("DOCKER_HOST", "DOCKER_CONFIG", "CONTAINER_HOST", "BUILDKIT_HOST", "KUBECONFIG"),
        *(
            "TMUX",
            "TMUX_PANE",
            "STY",
            "ZELLIJ",
            "ZELLIJ_SESSION_NAME",
            "NVIM",
            "NVIM_LISTEN_ADDRESS",
        ),
        *("KITTY_LISTEN_ON", "KITTY_PUBLIC_KEY", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET"),
        *("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "INVOCATION_ID"),
        *("WSL_INTEROP", "WSLENV", "WSL2_GUI_APPS_ENABLED"),
        *("TMPDIR", "TMP", "TEMP", "TEMPDIR"),
    }
)
"""Variables that lead to a socket, a folder or a service which is hidden."""

TEMPORARY = ("/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm", "/mnt/wslg")  # noqa: S108
"""Folders of the system that each box has for itself: temporary files, and sockets of services."""

SYSTEM_SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers")
"""Files that only root may read, whom a box may be started by."""

KEPT_OF_RUN = ("/run/current-system", "/run/opengl-driver", "/run/booted-system")
"""Programs and drivers that some systems have there."""
