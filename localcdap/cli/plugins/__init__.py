"""Commands for plugins and their artifacts."""
