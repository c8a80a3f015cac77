"""Figures of papers: reproduced, with their pictures and their claims."""

from __future__ import annotations

import base64
import html
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from . import _raddle
from ._on import On, spread_on
from ._progress import Progress
from ._results import Run, new_directory
from .errors import Interrupted

Scale = Literal["quick", "full"]
Style = Literal["screen", "paper", "slides"]
Verdict = Literal["holds", "calibrated", "deviates", "FAILS", "not measured"]


@dataclass(frozen=True)
class Spread:
    """The same number computed from each of ``seeds`` seeds: the ``least`` and the ``most``, and ``margin``, half the
    width of the 95% confidence interval of the mean."""

    least: float | None
    most: float | None
    margin: float | None
    seeds: int


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the number that judges it.

    The claim holds if ``measured`` is in the range ``accept``, both bounds included; a missing bound is infinite. The
    reason for the range is ``why``. ``samples`` counts the flows, ports or instants in the smallest sample of a run.
    ``cause`` is the known reason why the claim does not hold, and ``shown_by`` the figure or claim that shows it.
    ``calibrated`` is true if parameters that the paper does not give were chosen so that the claim holds, and ``ours`` if
    the claim is not a statement of the paper.
    """

    name: str
    section: str
    says: str
    paper: float | None
    measured: float | None
    accept: tuple[float, float]
    verdict: Verdict
    spread: Spread | None
    samples: int | None
    remark: str | None
    why: str
    cause: str | None
    shown_by: str | None
    calibrated: bool
    ours: bool
    changed: str | None


@dataclass(frozen=True, repr=False)
class Figure:
    """A reproduced figure, in its directory. A notebook shows its picture and its claims.

    Equal digests mean equal results. If ``repeats`` is false, the figure runs live or measures time, so its results and
    its digest differ between reproductions. ``seconds`` is the wall-clock time that the figure took.
    """

    name: str
    title: str
    directory: Path
    claims: tuple[Claim, ...]
    digest: str
    repeats: bool
    seconds: float

    @property
    def svg(self) -> Path:
        """The picture as SVG."""
        return self.directory / "figure.svg"

    @property
    def png(self) -> Path:
        """The picture as PNG."""
        return self.directory / "figure.png"

    @property
    def pdf(self) -> Path:
        """The picture as PDF."""
        return self.directory / "figure.pdf"

    @property
    def html(self) -> Path:
        """The picture as an HTML page, with the numbers of its curves below it."""
        return self.directory / "figure.html"

    @property
    def runs(self) -> dict[str, Run]:
        """The runs behind the figure, by the names of their folders. Computed figures and searches have none."""
        folders = (self.directory / "runs").glob("*")
        return {folder.name: Run(folder) for folder in sorted(folders) if not folder.name.startswith(".")}

    def __repr__(self) -> str:
        return f"<raddle.Figure {self.name} in {self.directory}>"

    def _repr_svg_(self) -> str:
        return self.svg.read_text()

    def _repr_html_(self) -> str:
        # As an image, so that the names inside one picture do not meet those of another.
        picture = base64.b64encode(self.svg.read_bytes()).decode()
        title = html.escape(f"{self.name}: {self.title}")
        image = f'<img src="data:image/svg+xml;base64,{picture}" alt="{title}" style="max-width: 100%">'
        return f"<h4>{title}</h4>{image}{_table(self.claims)}"


class Reproduction:
    """The results of :func:`reproduce`. A notebook shows the pictures and the claims; printing shows the claims.

    ``figures`` has the figures by name, and ``left_out`` names those that run only under their own name. ``digest``
    covers all results. With ``check=True``, ``moved`` has a sentence for each difference from Raddle's ledger, and
    ``measured_otherwise`` those of figures that run live or measure time; otherwise both are ``None``.
    """

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        self.figures = {entry["name"]: _figure(entry) for entry in data["figures"]}
        self.scale: Scale = data["scale"]
        self.complete: bool = data["complete"]
        self.as_expected: bool = data["as_expected"]
        self.digest: str = data["digest"]
        self.left_out: list[str] = data["left_out"]
        self.moved: list[str] | None = data["moved"]
        self.measured_otherwise: list[str] | None = data["measured_otherwise"]
        self._text = text
        self._owner: object = None

    @property
    def claims(self) -> list[Claim]:
        """The claims of all figures. ``polars.DataFrame(reproduction.claims)`` has a row for each."""
        return [claim for figure in self.figures.values() for claim in figure.claims]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<raddle.Reproduction of {', '.join(self.figures) or 'no figure'} at {self.scale} scale>"

    def _repr_html_(self) -> str:
        return "".join(figure._repr_html_() for figure in self.figures.values())


def reproduce(
    names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    scale: Scale = "quick",
    out: str | os.PathLike[str] | None = None,
    check: bool = False,
    within: float | None = None,
    record: str | os.PathLike[str] | None = None,
    force: bool = False,
    threads: int | None = None,
    style: Style | None = None,
    dpi: int | None = None,
    progress: bool | None = None,
    on: On = "here",
) -> Reproduction:
    """Runs the experiments of figures, draws the figures, and judges their claims, as ``raddle reproduce`` does.

    ``names`` are figures (``"r2c2/fig10"``), papers (``"r2c2"``) and files of figures (``"mine.toml"``). ``None`` means
    all figures, which takes hours. At the scale ``"quick"`` most figures take less than a minute, and ``"full"`` is the
    size of the paper. The results go to ``out``, a folder for each figure, or into a temporary folder that lives as long as the
    result. Finished runs in ``out`` are not run again, unless ``force`` is true; ``force`` also replaces other results.

    ``check`` compares the results with Raddle's ledger. ``within`` leaves out figures that took more seconds when they
    were recorded. ``record`` adds the results to the ledger in this file. Up to ``threads`` runs go on at a time (one for
    each core if ``None``), and ``progress`` shows a line of progress; ``None`` shows it on terminals and in notebooks.

    ``style`` is what the pictures are for: ``"screen"``, ``"paper"`` (a column of 3.3 inches, readable in grey) or
    ``"slides"`` (16:9, large type). ``dpi`` is the number of pixels per inch of the PNG, from 30 to 2400. Both replace
    the keys of the figure's file; other styles of finished runs are drawn without running them again.

    ``on="ray"`` spreads the runs of all figures over the Ray cluster to which the program is connected, one CPU each; see
    :mod:`raddle.cluster`. Searches, computations and live runs stay on this machine.

    Ctrl-C stops the runs and raises :class:`~raddle.errors.Interrupted`, whose ``result`` has the finished figures.
    """
    if names is None:
        chosen = []
    else:
        several = [names] if isinstance(names, (str, os.PathLike)) else names
        chosen = [os.fspath(name) for name in several]
        if not chosen:
            raise ValueError("give at least one figure, or None for all figures")
    if scale not in ("quick", "full"):
        raise ValueError(f"scale must be 'quick' or 'full' (got {scale!r})")
    check_look(style, dpi)
    directory, owner = new_directory(out)
    with Progress("", 0, progress) as shown:
        text, data = _raddle.reproduce(
            chosen,
            directory,
            scale == "full",
            check,
            within,
            record,
            force,
            threads,
            style,
            dpi,
            spread_on(on),
            shown.watch,
        )
        reproduction = Reproduction(text, json.loads(data))
        shown.interrupted = not reproduction.complete
    reproduction._owner = owner
    if not reproduction.complete:
        raise Interrupted("the reproduction was interrupted; the finished figures are in `result`", result=reproduction)
    return reproduction


def check_look(style: Style | None, dpi: int | None) -> None:
    """Raises ``ValueError`` if pictures cannot have this style or this resolution."""
    if style is not None and style not in get_args(Style):
        raise ValueError(f"style must be 'screen', 'paper' or 'slides' (got {style!r})")
    if dpi is not None and not 30 <= dpi <= 2400:
        raise ValueError(f"dpi must be from 30 to 2400 (got {dpi})")


def _figure(entry: dict[str, Any]) -> Figure:
    claims = tuple(_claim(claim) for claim in entry["claims"])
    return Figure(
        entry["name"],
        entry["title"],
        Path(entry["directory"]),
        claims,
        entry["digest"],
        entry["repeats"],
        entry["seconds"],
    )


def _claim(entry: dict[str, Any]) -> Claim:
    least, most = entry["accept"]
    spread, deviates = entry["spread"], entry["deviates"] or {}
    return Claim(
        name=entry["claim"],
        section=entry["section"],
        says=entry["says"],
        paper=entry["paper"],
        measured=entry["measured"],
        accept=(-math.inf if least is None else least, math.inf if most is None else most),
        verdict=entry["verdict"],
        spread=spread and Spread(spread["min"], spread["max"], spread["margin95"], spread["n"]),
        samples=entry["samples"],
        remark=entry["remark"],
        why=entry["why"],
        cause=deviates.get("cause"),
        shown_by=deviates.get("shown_by"),
        calibrated=entry["calibrated"],
        ours=entry["ours"],
        changed=entry["changed"],
    )


def _table(claims: Iterable[Claim]) -> str:
    """The claims as a table of HTML."""
    heads = ["claim", "verdict", "paper", "measured", "accepted", "the paper says"]
    rows = ["".join(f"<th>{head}</th>" for head in heads)]
    for claim in claims:
        least, most = claim.accept
        cells = [
            claim.name.rsplit("/", 1)[-1],
            claim.verdict,
            _number(claim.paper),
            _number(claim.measured) + _margin(claim.spread),
            f"{_number(least)} to {_number(most)}",
            claim.says,
        ]
        rows.append("".join(f'<td style="text-align: left">{html.escape(cell)}</td>' for cell in cells))
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>" if len(rows) > 1 else ""


def _number(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:.4g}" if math.isfinite(number) else "any"


def _margin(spread: Spread | None) -> str:
    return "" if spread is None or spread.margin is None else f" ± {spread.margin:.4g}"
