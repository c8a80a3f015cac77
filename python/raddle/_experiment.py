"""Experiments: read from TOML, from dicts or from keywords; run and swept."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _raddle
from ._figures import Style, check_look
from ._on import On, spread_on
from ._progress import Progress
from ._results import Agreement, Run, Sweep, new_directory
from ._routing import Definition, with_names
from .errors import Interrupted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keys import Root, Topology


class Experiment:
    """An experiment: a fabric, the flows that cross it, the scheme that carries them, and the engine.

    ``source`` is TOML as a ``str``, the path of a TOML file, or a ``dict`` of tables. A ``str`` of one line that ends
    in ``.toml`` is a path too. Keywords are tables of the experiment; they are added to a ``dict``, and they replace
    the use of ``source``::

        Experiment("rack.toml")
        Experiment(topology={"kind": "torus", "dims": [4, 4]}, workload={...}, scheme={"transport": "r2c2"})

    Quantities carry their units: ``"10 Gbps"``, ``"500 ns"``, ``"9 KB"``. Paths in a file are relative to the file, and
    all other paths to the current folder. The constructor checks each value.
    It raises the :class:`~raddle.errors.ExperimentError` of the first problem, with its place (a line of the text,
    or a key of the tables) and a hint. Whether the settings fit together is checked before a run. An experiment does not change: :meth:`set` returns a new one.

    A subclass of :class:`~raddle.Routing` can stand where the name of a routing stands.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        /,
        **tables: Unpack[Root],
    ) -> None:
        if source is not None and tables and not isinstance(source, Mapping):
            raise TypeError("give either TOML or keywords, not both")
        self._folder = os.getcwd()
        self._overrides: tuple[str, ...] = ()
        self._routings: dict[str, Definition] = {}
        self._is_text = source is not None and not isinstance(source, Mapping)
        if source is None or isinstance(source, Mapping):
            self._name = "experiment"
            self._text = _raddle.toml_text(with_names({**(source or {}), **tables}, self._routings))
        elif isinstance(source, str) and ("\n" in source or not source.endswith(".toml")):
            self._name, self._text = "experiment", source
        else:
            path = Path(source)
            self._name, self._text = str(path), _raddle.read_text(path)
            self._folder = str(path.absolute().parent)
        self._native = self._parsed()
        self._native.check()

    def _parsed(self) -> _raddle.Document:
        routings = list(self._routings.values())
        # Nobody has seen the text of tables, so that errors name keys, not lines.
        name = self._name if self._is_text else ""
        return _raddle.Document(name, self._text, self._folder, list(self._overrides), routings)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_native"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = self._parsed()

    def set(self, *overrides: str, **values: Any) -> Experiment:
        """The same experiment with other values: ``set("scheme.routing=ecmp")``, as ``--set`` on the command line.

        A keyword has two underscores for each dot, and a Python value: ``set(scheme__routing="ecmp")``.
        """
        other = Experiment.__new__(Experiment)
        routings: dict[str, Definition] = {}
        named = with_names(values, routings)
        keywords = [f"{key.replace('__', '.')}={_raddle.toml_value(value)}" for key, value in named.items()]
        state = {
            **self.__getstate__(),
            "_overrides": (*self._overrides, *overrides, *keywords),
            "_routings": {**self._routings, **routings},
        }
        other.__setstate__(state)
        other._native.check()
        return other

    def resolved(self) -> dict[str, Any]:
        """The whole experiment with every default, as a ``dict`` that :class:`Experiment` takes."""
        resolved: dict[str, Any] = json.loads(self._native.resolved())
        return resolved

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Run:
        """Runs the experiment into the directory ``out``, or into a temporary directory that lives as long as the result.

        The run uses up to ``threads`` threads (all cores if ``None``); the records do not depend on their number.
        Python's lock is released meanwhile. ``force`` replaces earlier results of another experiment.
        ``progress`` shows a line of progress; ``None`` shows it on terminals and in notebooks.

        Ctrl-C stops the run and raises :class:`~raddle.errors.Interrupted`, whose ``result`` is the partial run.
        """
        directory, owner = new_directory(out)
        title = Path(self._name).stem
        with Progress(title, 1, progress) as shown:
            interrupted = self._native.run(directory, title, force, threads, shown.watch)
            shown.interrupted = interrupted
        run = Run(directory)
        run._owner = owner
        if interrupted:
            raise Interrupted("the run was interrupted; the partial results are in `result`", result=run)
        return run

    def agree(self, *, threads: int | None = None, progress: bool | None = None) -> Agreement:
        """Runs the experiment in the packet engine and in the flow engine, and compares their results.

        Ctrl-C raises :class:`~raddle.errors.Interrupted`, whose ``result`` compares what the engines had delivered.
        """
        with Progress("", 2, progress) as shown:
            text, data, holds, interrupted = self._native.agree(threads, shown.watch)
            shown.interrupted = interrupted
        agreement = Agreement(text, json.loads(data), holds)
        if interrupted:
            raise Interrupted("the runs were interrupted", result=agreement)
        return agreement

    def to_networkx(self) -> Any:
        """The topology as a ``networkx`` graph: ``kind`` of nodes, ``rate_bps`` and ``delay_ps`` of edges."""
        import networkx

        return networkx.node_link_graph(json.loads(self._native.node_link()), edges="edges")

    def cells(self, seeds: int | None = None) -> list[str]:
        """The names of the cells of the sweep, with ``seeds`` replicas of each (``[figure] seeds`` if ``None``, 1 by default)."""
        return self._native.cells(seeds)

    def sweep(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        seeds: int | None = None,
        shard: tuple[int, int] | None = None,
        fail_fast: bool = False,
        force: bool = False,
        threads: int | None = None,
        style: Style | None = None,
        dpi: int | None = None,
        progress: bool | None = None,
        on: On = "here",
    ) -> Sweep:
        """Runs the cells that the ``[[sweep]]`` tables span into subfolders of ``out``.

        A cell with finished results of the same inputs is skipped, so a sweep that was stopped continues where it was.
        ``seeds`` runs each cell with that many seeds; ``None`` takes their number from ``[figure]``, or is 1.
        ``shard=(2, 5)`` runs every fifth cell, beginning with the second (from 1). ``fail_fast`` begins no further cell
        after one has failed, and none if one cannot run. ``style`` and ``dpi`` are those of :func:`~raddle.reproduce`, for the pictures of the sweep; finished runs are only drawn anew.
        Other arguments are those of :meth:`run`.

        A cell whose settings do not fit together, such as a routing for a Clos network on a torus, cannot run. The others
        run, with a :class:`~raddle.errors.RaddleWarning`, and ``refused`` of the result has the error of each such cell.
        If no cell can run, the error of the first is raised.

        ``on="ray"`` spreads the cells over the Ray cluster to which the program is connected, one CPU each; see
        :mod:`raddle.cluster`.

        Ctrl-C stops the sweep and raises :class:`~raddle.errors.Interrupted`, whose ``result`` has the finished runs, the
        partial runs (``complete`` is false), and the table of both.
        """
        check_look(style, dpi)
        look = {key: value for key, value in (("figure__style", style), ("figure__dpi", dpi)) if value is not None}
        native = self.set(**look)._native if look else self._native
        directory, owner = new_directory(out)
        names = self.cells(seeds)
        if shard is not None:
            index, count = shard
            names = names[index - 1 :: count]
        with Progress("", len(names), progress) as shown:
            folders, refused, results, interrupted = native.sweep(
                directory, seeds, shard, fail_fast, force, threads, spread_on(on, self._routings.values()), shown.watch
            )
            shown.interrupted = interrupted
        runs = {name: Run(folder) for name, folder in zip(names, folders, strict=True) if folder}
        complete = sum(run.complete for run in runs.values())
        text, summary = results or (f"{complete} of {len(names)} cells have run", "{}")
        sweep = Sweep(directory, runs, dict(refused), text, json.loads(summary))
        sweep._owner = owner
        if interrupted:
            raise Interrupted(f"the sweep was interrupted after {complete} of {len(names)} cells", result=sweep)
        return sweep

    def __repr__(self) -> str:
        return f"<raddle.Experiment {self._name}>"


def from_networkx(graph: Any, file: str | os.PathLike[str]) -> Topology:
    """Writes a ``networkx`` graph into ``file`` (``.json``), and returns the table ``[topology]`` that names the file.

    An existing file is replaced. Nodes are numbered from 0 and have the attribute ``kind`` (``host`` or ``switch``);
    edges have ``rate_bps`` and ``delay_ps``.
    """
    import networkx

    path = Path(file).absolute()
    _raddle.write_text(path, json.dumps(networkx.node_link_data(graph, edges="edges")))
    return {"kind": "file", "file": str(path)}
