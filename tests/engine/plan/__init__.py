"""Plans and validation in whole runs: proposals, verification, stories, archives."""
