"""Commands for system applications, their jobs, and messages."""
