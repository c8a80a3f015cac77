"""Shows the progress of runs: one line on a terminal, or one line of a notebook's cell."""

from __future__ import annotations

import sys
import time
from typing import Any


class Progress:
    """The progress of ``runs`` runs, on one line that begins with ``title``. Without a terminal or a notebook, nothing is
    shown. It is a context: at its end, a terminal's line goes, and a notebook's line says how long the work took."""

    def __init__(self, title: str, runs: int, enabled: bool | None) -> None:
        self.whole = title
        self.title = title
        self.runs = runs
        self.begun = time.monotonic()
        self.interrupted = False
        self.shares: dict[int, float] = {}
        self.ended = 0
        self.shown = False
        self.cell: Any = None
        self.notebook = enabled is not False and _in_notebook()
        self.terminal = not self.notebook and (sys.stderr.isatty() if enabled is None else enabled)

    @property
    def watch(self) -> Progress | None:
        """This object, which then hears of news, or ``None`` if nothing is shown."""
        return self if self.notebook or self.terminal else None

    def begin(self, title: str, runs: int) -> None:
        """Shows the progress of other runs from now on."""
        self.title, self.runs = title, runs
        self.shares, self.ended = {}, 0
        self.show(f"{title}: 0 of {runs} runs")

    def hear(self, run: int, share: float | None, left_s: float | None, hops: int | None, ended: bool) -> None:
        """Notes that run number ``run`` is done up to ``share`` (0 to 1), with ``left_s`` seconds left."""
        self.ended += ended
        if ended:
            self.shares.pop(run, None)
        else:
            self.shares[run] = share or 0.0
        done = (self.ended + sum(self.shares.values())) / self.runs
        over = self.ended + sum(share >= 1 for share in self.shares.values())
        text = f"{self.title}: " if self.title else ""
        if self.runs == 1:
            text += f"{done:4.0%}, {hops or 0} packet-hops"
            text += "" if left_s is None else f", about {left_s:.0f} s left"
        else:
            text += f"{over} of {self.runs} runs, {done:4.0%}"
        self.show(text)

    def show(self, text: str) -> None:
        """Replaces the line."""
        self.shown = True
        if self.terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif self.cell is None:
            from IPython.display import display

            self.cell = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self.cell.update({"text/plain": text}, raw=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if self.shown and self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        elif self.shown:
            end = "stopped after" if self.interrupted or failed else "done in"
            text = f"{self.whole}: " if self.whole else ""
            self.show(f"{text}{end} {time.monotonic() - self.begun:.1f} s")


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
