"""The dialogs of the studio: questions, lists to choose from, files, notices, jump mode."""
