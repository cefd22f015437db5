"""Actions on files of SFTP servers."""
