"""Records as tables: to look at, search, copy and profile."""
