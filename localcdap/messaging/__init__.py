"""Topics and system events, and messages from runs to the host, each taking effect exactly once."""
