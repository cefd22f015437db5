"""The page that shows the studio: Textual's script for terminals in a page, and nothing from elsewhere."""

from __future__ import annotations

import html
import json
from importlib.resources import as_file, files
from pathlib import Path
from string import Template
from typing import Final

_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
<link rel="stylesheet" href="/static/css/xterm.css">
<style nonce="$nonce">
@font-face { font-family: "Roboto Mono"; src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf"); }
html, body { margin: 0; height: 100%; background: #121212; color: #e0e0e0;
  font-family: "Roboto Mono", monospace; }
#terminal { position: absolute; inset: 0; }
#state { position: absolute; inset: 0; display: flex; flex-direction: column; align-items: center;
  justify-content: center; gap: 1em; z-index: 10; background: #121212; }
body.-first-byte:not(.-closed) #state { display: none; }
#again { display: none; font: inherit; padding: 0.5em 2em; }
body.-closed #again { display: block; }
</style>
<script nonce="$nonce">
history.replaceState(null, "", "/");
const KEY = "localcdap-tab";
const tab = sessionStorage.getItem(KEY) ||
  Array.from(crypto.getRandomValues(new Uint8Array(16)), each => each.toString(16).padStart(2, "0")).join("");
sessionStorage.setItem(KEY, tab);
addEventListener("DOMContentLoaded", () => {
  document.getElementById("terminal").dataset.sessionWebsocketUrl = "ws://" + location.host + "/ws/" + tab;
  document.getElementById("again").addEventListener("click", () => location.reload());
  const state = document.getElementById("text");
  new MutationObserver(() => {
    if (document.body.classList.contains("-closed")) state.textContent = $closed;
    else if (document.body.classList.contains("-first-byte"))
      document.querySelector(".xterm-helper-textarea").focus();
  }).observe(document.body, {attributes: true, attributeFilter: ["class"]});
});
</script>
<script src="/static/js/textual.js"></script>
</head>
<body>
<div id="state" role="status"><div id="text">The studio starts …</div>
<button id="again">Open it again</button></div>
<noscript>The studio needs JavaScript.</noscript>
<div id="terminal" class="textual-terminal" role="application" aria-label="$title"
data-font-size="$font_size"></div>
</body>
</html>
""")
_CLOSED: Final = (
    "The studio has ended in this page: it was quit or opened elsewhere, or its server was stopped."
)
_REFUSED: Final = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>localcdap</title></head>
<body><h1>The studio cannot be opened here</h1><p>$reason</p></body></html>
""")
FONT_SIZES: Final = range(8, 41)
"""The sizes of the font in pixels that a page can have."""


def build_page(title: str, nonce: str, font_size: int) -> str:
    """Return the page of a studio.

    :param nonce: a random text that its styles and its script carry, which the content security policy names.
    :param font_size: in pixels.
    """
    return _PAGE.substitute(
        title=html.escape(title), nonce=nonce, font_size=font_size, closed=json.dumps(_CLOSED)
    )


def build_refusal(reason: str) -> str:
    """Return a page that says why the studio is not shown."""
    return _REFUSED.substitute(reason=html.escape(reason))


def build_policy(nonce: str, socket_sources: str) -> str:
    """Return the content security policy of the page: nothing from elsewhere, and in no frame."""
    # The script sets styles of elements, which needs 'unsafe-inline' for style attributes.
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
        f"font-src 'self'; img-src 'self' data:; connect-src 'self' {socket_sources}; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def find_static_files() -> Path:
    """Return the folder of the scripts, styles and fonts of textual-serve."""
    with as_file(files("textual_serve").joinpath("static")) as folder:
        return folder
