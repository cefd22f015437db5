"""Access of the studio to the machine: clipboard, editor, files, user state, garbage collection."""
