"""Messages from runs to the host, each taking effect exactly once, and events inside the host."""
