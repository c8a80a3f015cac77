"""Spreads runs over a Ray cluster: the cells of a sweep, or the runs of figures.

Each run is a task of one CPU. Ray does the task again if its node is lost. The task returns the files of the run's
directory, whose tables are Parquet, and the driver puts them in place as soon as they arrive. Work that was stopped
continues with the runs that are missing.

All nodes need this package, and the installed packages that a routing in Python imports. Files that an experiment names
must have the same path on all nodes.

``python3 -m raddle.cluster ADDRESS PROGRAM`` serves the command ``raddle --cluster``: it does tasks with that program.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _raddle
from ._routing import Definition
from .errors import ExperimentError, RaddleError, RunError, UsageError

Files = dict[str, bytes]
"""The files of a run's directory."""

RETRIES = 5
"""How often Ray does a task again whose node or process was lost."""

LOOK_S = 0.1
"""Longest time between two values of :func:`spread`, in seconds."""


def connect(address: str | None) -> None:
    """Connects to the cluster at this address. Without an address, Ray finds or begins a cluster.

    Raises ``UsageError`` if Ray is not installed or there is no cluster.
    """
    try:
        import ray
    except ImportError as missing:
        raise UsageError("the package `ray` is not installed", "pip install ray") from missing
    if ray.is_initialized():
        return
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False)
    except ConnectionError as error:
        raise UsageError(
            f"cannot connect to a Ray cluster at {address}: {error}", "`ray start --head` prints the address of a cluster"
        ) from error


def _knock(address: str | None) -> None:
    """Raises ``ConnectionError`` if nobody listens at this address, for which Ray takes minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            raise ConnectionError(str(error)) from error


def task(text: str, program: bytes | None, routings: list[Definition]) -> Files:
    """Does a task, with this package and these routings or with a ``raddle`` program. Returns the files of the run."""
    with tempfile.TemporaryDirectory(prefix="raddle-") as folder:
        directory = Path(folder) / "run"
        if program is None:
            _raddle.do_task(text, directory, routings)
        else:
            _do_with(Path(folder) / "raddle", program, text, directory)
        return {file.name: file.read_bytes() for file in directory.iterdir()}


def _do_with(path: Path, program: bytes, text: str, directory: Path) -> None:
    path.write_bytes(program)
    path.chmod(0o700)
    command = [str(path), "task", str(directory), "--format", "json"]
    ran = subprocess.run(command, input=text, capture_output=True, text=True)
    if ran.returncode != 0:
        try:
            error = json.loads(ran.stdout)["error"]
        except ValueError:
            raise RunError(f"raddle ended with code {ran.returncode}: {ran.stderr.strip()}") from None
        raise (UsageError if error["exit_code"] == 2 else RunError)(error["message"], error["hint"])


def spread(
    tasks: list[str], program: bytes | None = None, routings: Iterable[Definition] = ()
) -> Iterator[tuple[int, Files] | None]:
    """Does the tasks on the cluster. They can name ``routings``, which are classes of Python. Yields the index of each
    task that has ended, with its files, and ``None`` several times a second. If a task fails, its error is raised after
    the others have ended. Closing the generator cancels the tasks that are left.
    """
    import ray

    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(task)
    shared = None if program is None else ray.put(program)
    own = list(routings)
    with _by_value(own):
        pending: dict[Any, int] = {remote.remote(text, shared, own): index for index, text in enumerate(tasks)}
    failed: RaddleError | None = None
    try:
        while pending:
            done, _ = ray.wait(list(pending), num_returns=1, timeout=LOOK_S)
            for reference in done:
                index = pending.pop(reference)
                try:
                    yield index, ray.get(reference)
                except ray.exceptions.RayError as error:
                    failed = failed or _cause(error, tasks[index])
            yield None
    finally:
        for reference in pending:
            ray.cancel(reference)
    if failed is not None:
        raise failed


@contextmanager
def _by_value(routings: Iterable[Definition]) -> Iterator[None]:
    """Ships the user's modules in which the classes are defined: other nodes need not have these modules."""
    from ray import cloudpickle

    names = {base.__module__ for definition in routings for base in definition.routing.__mro__}
    own = [sys.modules[name] for name in names if not _is_everywhere(name)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_everywhere(module: str) -> bool:
    """True if all nodes have the module: it belongs to Python, to this package or to an installed package."""
    if module.split(".")[0] in {*sys.stdlib_module_names, "raddle", "__main__"}:
        return True
    folders = Path(sys.modules[module].__file__ or "").parts
    return "site-packages" in folders or "dist-packages" in folders


def _cause(error: Any, text: str) -> RaddleError:
    """The error of a run, as an error of this package."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, RaddleError):
        return cause
    return RunError(f"the run `{json.loads(text)['title']}` was lost on the cluster: {error}")


def serve(address: str, program: Path) -> None:
    """Does the tasks on standard input, one a line, until an empty line. Writes a line for each task that has ended, its
    index and the names and sizes of its files, and then the contents of the files. Ends when the input ends."""
    # Ctrl-C reaches the command too, which then closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    results = os.fdopen(os.dup(1), "wb")
    # What Ray prints must not meet the results.
    os.dup2(2, 1)
    tasks = list(itertools.takewhile(str.strip, sys.stdin))
    try:
        connect(address)
        for ended in spread(tasks, program.read_bytes()):
            # No further input is sent, so there is something to read only at the end.
            if select.select([sys.stdin], [], [], 0)[0]:
                return
            if ended is not None:
                index, files = ended
                names = [(name, len(content)) for name, content in files.items()]
                results.write(json.dumps([index, names]).encode() + b"\n")
                results.writelines(files.values())
                results.flush()
    except RaddleError as error:
        usage = isinstance(error, (UsageError, ExperimentError))
        line = json.dumps({"error": {"message": error.message, "hint": error.hint, "usage": usage}})
        results.write(line.encode() + b"\n")
        results.flush()


if __name__ == "__main__":
    # Tasks are functions of the imported module, which nodes can import too.
    from raddle import cluster

    cluster.serve(sys.argv[1], Path(sys.argv[2]))
