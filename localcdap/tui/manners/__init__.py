"""Habits that hold on every screen: help, notices, questions, themes, clipboard, the editor."""
