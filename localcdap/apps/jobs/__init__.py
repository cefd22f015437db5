"""Jobs of system applications: their queue, their processes and their records."""
