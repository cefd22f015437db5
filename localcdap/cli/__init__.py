"""The command line: modules of commands by subject, loaded only when one of their commands is used."""
