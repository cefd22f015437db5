"""The plugin worker: the process that runs user code, and its supervisor."""
