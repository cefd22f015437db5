"""Readers of file formats: each makes a DataFrame of files. :func:`.records.read_files` chooses one."""
