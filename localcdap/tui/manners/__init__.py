"""Habits that hold on every screen: keys, help, notices, themes, clipboard, the editor."""
