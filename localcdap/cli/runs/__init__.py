"""Commands for runs: real runs, previews and the debugging of stages, with what they recorded."""
