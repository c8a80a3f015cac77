"""The types of the native module. The classes of ``raddle`` use it; it is not for users."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, Protocol

from ._routing import Definition
from .errors import ExperimentError

__version__: str

class _Watch(Protocol):
    def begin(self, title: str, runs: int) -> None: ...
    def hear(self, run: int, share: float | None, left_s: float | None, hops: int | None, ended: bool) -> None: ...

_Spread = Callable[[list[str]], Iterator[tuple[int, dict[str, bytes]] | None]]

class Document:
    def __new__(
        cls, name: str, text: str, folder: str, overrides: list[str], routings: Sequence[Definition]
    ) -> Document: ...
    def check(self) -> None: ...
    def resolved(self) -> str: ...
    def run(
        self, out: PathLike[str], title: str, force: bool, threads: int | None, watch: _Watch | None
    ) -> bool: ...
    def digest(self, threads: int) -> str: ...
    def agree(self, threads: int | None, watch: _Watch | None) -> tuple[str, str, bool, bool]: ...
    def node_link(self) -> str: ...
    def cells(self, seeds: int | None) -> list[str]: ...
    def sweep(
        self,
        out: PathLike[str],
        seeds: int | None,
        shard: tuple[int, int] | None,
        fail_fast: bool,
        force: bool,
        threads: int | None,
        spread: _Spread | None,
        watch: _Watch | None,
    ) -> tuple[list[str | None], list[tuple[str, ExperimentError]], tuple[str, str] | None, bool]: ...

class Table:
    """A table of records. It exports Arrow through the ``PyCapsule`` interface, as one batch.

    ``polars.DataFrame(table)`` and ``pyarrow.table(table)`` share the memory of its numbers.
    ``pandas.DataFrame.from_arrow(table)`` copies them into arrays of NumPy. A DuckDB query can use the name of a
    variable that holds the table. ``table["fct_ps"]`` is a list with a copy of a column.
    """

    @property
    def columns(self) -> list[str]:
        """The names of the columns. In the tables of a run, a name ends with the column's unit, if there is one."""

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column, copied into a list of numbers, booleans or texts; ``None`` where a row has none."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow stream. Consumers convert types themselves, so ``requested_schema`` is not used."""

    def __arrow_c_schema__(self) -> object:
        """The types of the columns as an Arrow schema."""


class Node:
    """A node that forwards packets, as the object of a :class:`~raddle.Routing` sees it."""

    @property
    def id(self) -> int:
        """The node's number."""

    @property
    def ports(self) -> int:
        """The number of the node's ports, which are numbered from 0."""

    @property
    def parameters(self) -> MappingProxyType[str, Any]:
        """The values of the routing's parameters: times in picoseconds, rates in bit/s, sizes in bytes."""

    @property
    def now_ps(self) -> int:
        """The simulated time of the latest call of ``forward``, in picoseconds; 0 before the first call."""

    def random(self, bound: int) -> int:
        """A random number from 0 to ``bound - 1``, from the node's own stream under the run's seed."""

class Packet:
    """A packet that a node forwards."""

    @property
    def source(self) -> int:
        """The node that sent the packet."""

    @property
    def destination(self) -> int:
        """The node to which the packet is addressed."""

    @property
    def size_bytes(self) -> int:
        """Size in bytes, headers included. The overhead of the link layer is not included."""

    @property
    def payload_bytes(self) -> int:
        """Bytes of the application; 0 for control packets, such as acknowledgements."""

    @property
    def flow(self) -> int | None:
        """The key of the flow in the header of a data packet; ``None`` for control packets."""

    @property
    def sequence(self) -> int | None:
        """The sequence number of a data packet as its header gives it, such as TCP's; ``None`` for control packets."""

    @property
    def hash(self) -> int:
        """64 bits that are the same for all packets of a flow in one direction, and differ between nodes and seeds."""

    @property
    def arrival(self) -> int | None:
        """The port by which the packet arrived; ``None`` if it comes from the node's own host."""

class Candidate:
    """A port on a shortest path to a packet's destination."""

    @property
    def port(self) -> int:
        """The port's number."""

    @property
    def is_up(self) -> bool:
        """False if the link is down and its failure has not been discovered yet."""

    @property
    def queue_bytes(self) -> int:
        """Bytes in the egress queue, the unsent part of the packet in service included."""

    @property
    def wait_ps(self) -> int:
        """Time until the egress queue has drained, in picoseconds, if the port is not paused."""

    @property
    def rate_bps(self) -> int:
        """Rate of the link in bit/s."""

def loaded_from(path: str) -> None: ...
def reproduce(
    names: list[str],
    out: PathLike[str],
    full: bool,
    check: bool,
    within: float | None,
    record: str | PathLike[str] | None,
    force: bool,
    threads: int | None,
    style: str | None,
    dpi: int | None,
    spread: _Spread | None,
    watch: _Watch | None,
) -> tuple[str, str]: ...
def do_task(task: str, directory: str | PathLike[str], routings: Sequence[Definition]) -> None: ...
def read_table(path: PathLike[str]) -> Table: ...
def check_run(directory: PathLike[str]) -> None: ...
def read_text(path: PathLike[str]) -> str: ...
def write_text(path: PathLike[str], text: str) -> None: ...
def toml_text(tables: Mapping[str, Any]) -> str: ...
def toml_value(value: object) -> str: ...
def names(what: str) -> str: ...
def explain(name: str) -> tuple[str, str]: ...
def schema() -> str: ...
