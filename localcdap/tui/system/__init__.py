"""What the studio does with the machine: clipboard, editor, files, the user state, garbage collection."""
