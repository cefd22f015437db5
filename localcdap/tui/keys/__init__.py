"""Keys and commands: what they do on a screen, and the keymap file of the user."""
