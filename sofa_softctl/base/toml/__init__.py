"""Read TOML files of users: every mistake with its line."""
