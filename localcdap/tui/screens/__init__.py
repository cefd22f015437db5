"""The full screens of the studio, one package each; :mod:`localcdap.tui.routes` lists them."""
