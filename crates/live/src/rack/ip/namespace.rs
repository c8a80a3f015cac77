//! A network namespace with one TAP interface. The namespace has a name, so that `ip netns exec` finds it. Dropping the
//! [`Namespace`] removes this name. Creating a namespace also removes the names that killed processes left behind.

use super::cores::{self, Cores};
use super::{PREFIX_V4, PREFIX_V6, address, address_v6, routes};
use netconfig_rs::sys::InterfaceExt as _;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use raddle_core::{Duration, NodeId};
use raddle_wire::Mac;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// The directory of the names of network namespaces (ip-netns(8)).
const NAMES: &str = "/run/netns";

/// The name of a host's interface.
const INTERFACE: &str = "raddle";

/// The name of the namespace that this process creates for a node.
fn name(node: NodeId) -> String {
    format!("raddle-{}-{}", std::process::id(), node.0)
}

/// The configuration of a namespace's interface, and of the kernel's protocols behind it.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Maximum size of an IP packet in bytes.
    pub mtu: u16,
    /// Maximum number of frames that wait in the interface until they can leave: `txqueuelen`.
    pub queue: u32,
    /// If true, the host gets an IPv6 address, provided that the kernel supports IPv6.
    pub ipv6: bool,
    /// TCP's congestion control, by its name in Linux.
    pub congestion_control: String,
    /// TCP's smallest retransmission timeout, in real time. Fractions of a millisecond are cut off. `None` stands for
    /// the kernel's default, 200 ms.
    pub rto_min: Option<Duration>,
    /// If true, TCP negotiates ECN, so that queues can mark packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Interface {
    /// An MTU of 1,500 bytes, a queue of 1,000 frames, no IPv6, and CUBIC without ECN. The MTU and the queue are the
    /// defaults of Ethernet interfaces in Linux, and CUBIC is Linux's default congestion control.
    fn default() -> Self {
        Self {
            mtu: 1_500,
            queue: 1_000,
            ipv6: false,
            congestion_control: "cubic".to_owned(),
            rto_min: None,
            ecn: false,
        }
    }
}

/// The reason why a namespace could not be created.
#[derive(Debug, thiserror::Error)]
pub enum NoNamespace {
    /// The system refused a step.
    #[error("cannot create a network namespace for node {node}: {step}: {why}")]
    Refused {
        /// The node whose namespace was to be created.
        node: NodeId,
        /// The refused step.
        step: &'static str,
        /// The system's error.
        why: io::Error,
    },
    /// The kernel does not have the congestion control.
    #[error("the kernel does not support the congestion control `{name}`; it supports {available}")]
    NoCongestionControl {
        /// The requested congestion control.
        name: String,
        /// The available congestion controls.
        available: String,
    },
}

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    path: PathBuf,
    /// The cores that the namespace's programs may use, if the other cores are reserved for polling threads.
    cores: Option<CpuSet>,
}

impl Namespace {
    /// Creates the namespace of a node, and its interface. If `cores` reserves cores for polling threads, the kernel
    /// uses only the other cores to process the frames that leave the rack.
    pub(super) fn new(
        node: NodeId,
        interface: &Interface,
        cores: Option<&Cores>,
    ) -> Result<(Self, SyncDevice), NoNamespace> {
        let fault = fault(node);
        fs::create_dir_all(NAMES).map_err(fault("creating /run/netns"))?;
        forget_the_dead();
        let name = name(node);
        let path = Path::new(NAMES).join(&name);
        File::create_new(&path).map_err(fault("naming it"))?;
        // From here on, dropping `namespace` removes the name.
        let namespace = Self { name, path, cores: cores.map(Cores::others) };
        // A thread that has entered a namespace stays in it, so a separate thread creates the namespace.
        let made =
            thread::scope(|scope| scope.spawn(|| furnish(node, interface, cores, &namespace.path)).join());
        let made = made.unwrap_or_else(|_| Err(fault("creating it")(io::Error::other("a thread failed"))));
        made.map(|device| (namespace, device))
    }

    /// The name, as in `ip netns exec NAME COMMAND`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens the namespace. With the returned file, a thread can enter the namespace.
    ///
    /// # Errors
    /// If the file cannot be opened, for example because the namespace's name was removed.
    pub fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Moves this thread into the namespace, and to the cores of the namespace's programs.
    ///
    /// # Errors
    /// In the same cases as [`open`](Self::open), or if the system refuses.
    pub fn enter(&self) -> io::Result<()> {
        setns(self.open()?, CloneFlags::CLONE_NEWNET)?;
        Ok(self.cores.map_or(Ok(()), |cores| sched_setaffinity(None, &cores))?)
    }

    /// Starts a program in the namespace.
    ///
    /// # Errors
    /// In the same cases as [`enter`](Self::enter) and [`Command::spawn`].
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        // A child process inherits the namespace of the thread that starts it.
        let start = || self.enter().and_then(|()| command.spawn());
        thread::scope(|scope| scope.spawn(start).join())
            .unwrap_or_else(|_| Err(io::Error::other("a thread failed")))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        forget(&self.path);
    }
}

/// Returns a function that makes the error for a refused step in the creation of a node's namespace.
fn fault(node: NodeId) -> impl Fn(&'static str) -> Box<dyn Fn(io::Error) -> NoNamespace> {
    move |step| Box::new(move |why| NoNamespace::Refused { node, step, why })
}

/// Moves this thread into a new namespace, binds the namespace to the path `name`, and sets up its protocols and
/// interfaces. Returns the TAP interface.
fn furnish(
    node: NodeId,
    interface: &Interface,
    cores: Option<&Cores>,
    name: &Path,
) -> Result<SyncDevice, NoNamespace> {
    let fault = fault(node);
    unshare(CloneFlags::CLONE_NEWNET).map_err(|why| fault("entering a new namespace")(why.into()))?;
    mount(Some("/proc/thread-self/ns/net"), name, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .map_err(|why| fault("mounting the namespace under its name")(why.into()))?;
    let has_ipv6 = configure(interface).map_err(fault("setting the options of TCP and IPv6"))?;
    netconfig_rs::Interface::try_from_name("lo")
        .and_then(|lo| lo.set_up(true))
        .map_err(|why| fault("starting the loopback interface")(io::Error::other(why.to_string())))?;
    let ipv4 = address(node);
    // A /32 address adds no route. The route to the other hosts is added below, because this route also sets the
    // congestion control.
    let mut builder = DeviceBuilder::new()
        .name(INTERFACE)
        .layer(Layer::L2)
        .mac_addr(Mac::host(node.0).0)
        .ipv4(ipv4, 32, None)
        .mtu(interface.mtu)
        .tx_queue_len(interface.queue)
        .backpressure(true);
    if has_ipv6 {
        builder = builder.ipv6(address_v6(node), 128);
    }
    let device = builder.build_sync().map_err(fault("creating the TAP interface"))?;
    device.set_nonblocking(true).map_err(fault("setting up the TAP interface"))?;
    if let Some(cores) = cores {
        steer(&cores.mask_of_others()).map_err(fault("choosing the cores for receive packet steering"))?;
    }
    let index = device.if_index().map_err(fault("reading the index of the TAP interface"))?;
    let ipv6 = has_ipv6.then(|| (address_v6(node).into(), PREFIX_V6));
    for (address, prefix) in [(ipv4.into(), PREFIX_V4)].into_iter().chain(ipv6) {
        routes::add(address, prefix, index, interface).map_err(|why| {
            match (why.kind(), lacking(&interface.congestion_control)) {
                (io::ErrorKind::InvalidInput, Some(lacking)) => lacking,
                _ => fault("creating the route to the other hosts")(why),
            }
        })?;
    }
    Ok(device)
}

/// Selects the cores on which the kernel processes frames that leave the rack. `cores` is the mask of these cores.
fn steer(cores: &str) -> io::Result<()> {
    // A private mount of sysfs shows the interfaces of this namespace. The mount at /sys does not show them.
    let files = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&files)?;
    let files = fsmount(&files, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let key = format!("devices/virtual/net/{INTERFACE}/queues/rx-0/rps_cpus");
    match openat(&files, key, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => File::from(file).write_all(cores.as_bytes()),
        // A kernel without receive packet steering does not have this file.
        Err(Errno::NOENT) => Ok(()),
        Err(why) => Err(why.into()),
    }
}

/// The error for a congestion control that the kernel does not list. `None` if the kernel lists the congestion control,
/// or the list cannot be read.
fn lacking(congestion_control: &str) -> Option<NoNamespace> {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").ok()?;
    let available: Vec<&str> = available.split_whitespace().collect();
    let is_there = available.contains(&congestion_control);
    let (name, available) = (congestion_control.to_owned(), available.join(", "));
    (!is_there).then_some(NoNamespace::NoCongestionControl { name, available })
}

/// Sets up the protocols of this thread's namespace, before the namespace has its TAP interface. Returns true if the
/// namespace has IPv6.
fn configure(interface: &Interface) -> io::Result<bool> {
    let set = |key: &str, value: &str| fs::write(Path::new("/proc/sys/net").join(key), value);
    set("ipv4/tcp_ecn", if interface.ecn { "1" } else { "0" })?;
    // A new connection must not use metrics of earlier connections.
    set("ipv4/tcp_no_metrics_save", "1")?;
    let has_ipv6 = interface.ipv6 && Path::new("/proc/sys/net/ipv6").exists();
    if has_ipv6 {
        // The rack assigns unique addresses and has no routers. So the kernel must neither check for duplicate
        // addresses nor look for routers.
        for (key, value) in [
            ("accept_dad", "0"),
            ("accept_ra", "0"),
            ("autoconf", "0"),
            ("addr_gen_mode", "1"),
            ("router_solicitations", "0"),
        ] {
            set(&format!("ipv6/conf/default/{key}"), value)?;
        }
    } else {
        // A kernel without IPv6 does not have this file.
        let _ = set("ipv6/conf/default/disable_ipv6", "1");
    }
    Ok(has_ipv6)
}

/// Removes a namespace's name. The kernel removes the namespace when no process is in it and the descriptor of its
/// interface is closed.
fn forget(path: &Path) {
    let _ = umount2(path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(path);
}

/// Removes the names that ended processes have left behind.
fn forget_the_dead() {
    names().filter(|of| !of.is_alive()).for_each(|of| forget(&of.path()));
}

/// The namespace of a host of a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The process that created the namespace.
    pub process: u32,
    /// The host.
    pub node: NodeId,
}

/// The namespaces of the racks that run on this machine, ordered by process and then by node.
#[must_use]
pub fn running() -> Vec<Named> {
    let mut running: Vec<Named> = names().filter(|of| of.is_alive()).collect();
    running.sort_unstable();
    running
}

fn names() -> impl Iterator<Item = Named> {
    let names = fs::read_dir(NAMES).into_iter().flatten().filter_map(Result::ok);
    names.filter_map(|name| Named::of(name.file_name().to_str()?))
}

impl Named {
    /// Parses the name of a namespace.
    fn of(name: &str) -> Option<Self> {
        let (process, node) = name.strip_prefix("raddle-")?.split_once('-')?;
        Some(Self { process: process.parse().ok()?, node: NodeId(node.parse().ok()?) })
    }

    fn path(self) -> PathBuf {
        Path::new(NAMES).join(format!("raddle-{}-{}", self.process, self.node.0))
    }

    fn is_alive(self) -> bool {
        Path::new("/proc").join(self.process.to_string()).exists()
    }

    /// Replaces this process by a program in the namespace, on cores without a polling thread of the run. Returns only
    /// on failure.
    pub fn become_program(self, command: &mut Command) -> io::Error {
        let enter = |namespace| {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            cores::leave_those_of(self.process)
        };
        match File::open(self.path()).and_then(enter) {
            Ok(()) => command.exec(),
            Err(why) => why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_given() {
        let own = Named::of(&name(NodeId(7))).expect("a name of ours");
        assert_eq!(own, Named { process: std::process::id(), node: NodeId(7) });
        assert!(own.is_alive() && !Named { process: u32::MAX - 1, ..own }.is_alive());
        assert!(own.path().ends_with(name(NodeId(7))));
        for other in ["raddle-", "raddle-1", "raddle-1-", "raddle-x-1", "other-1-2", "raddle-1-2-3"] {
            assert_eq!(Named::of(other), None, "{other}");
        }
    }
}
