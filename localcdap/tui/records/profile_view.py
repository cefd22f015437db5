"""The profile of a column, beside its table."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from localcdap.tui.records.profile import Profile, bars


class ProfileView(Static):
    """Shows a profile; nothing until there is one."""

    DEFAULT_CSS = """
    ProfileView {
        width: 34; height: 1fr; padding: 0 1; overflow-y: auto; border-left: vkey $surface-lighten-1;
    }
    """

    def put(self, profile: Profile) -> None:
        self.update(_drawn(profile))

    def wait(self, name: str) -> None:
        self.update(Text.assemble((name, "bold"), "\n", ("counting …", "dim")))


def _drawn(profile: Profile) -> Text:
    text = Text.assemble((profile.name, "bold"), " ", (profile.type, "dim"), "\n\n")
    lines = [
        ("values", f"{profile.count - profile.nulls:,}"),
        ("nulls", _share(profile.nulls, profile.count)),
    ]
    if profile.empty is not None:
        lines.append(("empty texts", _share(profile.empty, profile.count)))
    if profile.distinct is not None:
        lines.append(("distinct", f"{profile.distinct:,}"))
    for name, value in (("min", profile.least), ("max", profile.greatest), ("mean", profile.mean)):
        if value is not None:
            lines.append((name, value))
    for name, value in lines:
        text.append(f"{name:<12}", "dim").append(f"{value}\n")
    if profile.histogram:
        text.append("\n").append(bars(profile.histogram)).append("\n")
        text.append(f"{profile.least} … {profile.greatest}\n", "dim")
    if profile.frequent and (profile.distinct or 0) < profile.count - profile.nulls:
        text.append("\nmost frequent\n", "dim")
        most = profile.frequent[0].count
        for each in profile.frequent:
            bar = "▇" * max(1, round(each.count / most * 8))
            text.append(f"{bar:<9}").append(f"{each.count:>6,} ", "dim").append(
                f"{each.value[:15]}\n"
            )
    return text


def _share(part: int, whole: int) -> str:
    if not part:
        return "none"
    return f"{part:,} ({part / whole:.1%})"
