//! A network namespace with one TAP interface: made, named so that `ip netns exec` finds it, and gone when it is dropped.
//! What a process that was killed left behind goes when the next one makes a namespace.

use netconfig_rs::sys::InterfaceExt as _;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use raddle_core::NodeId;
use raddle_wire::Mac;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// Where the names of network namespaces are (ip-netns(8)).
const NAMES: &str = "/run/netns";

/// The interface of a host.
const INTERFACE: &str = "raddle";

/// A namespace could not be made.
#[derive(Debug, thiserror::Error)]
#[error("no network namespace for node {node}: {step}: {why}")]
pub struct NoNamespace {
    /// The node that was to have it.
    pub node: NodeId,
    /// What was refused.
    pub step: &'static str,
    /// What the system said.
    pub why: io::Error,
}

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    path: PathBuf,
}

impl Namespace {
    /// The namespace of a node, and its interface, which has this address and passes packets of up to `mtu` bytes.
    pub(super) fn new(node: NodeId, address: Ipv4Addr, mtu: u16) -> Result<(Self, SyncDevice), NoNamespace> {
        let fault = move |step| move |why| NoNamespace { node, step, why };
        fs::create_dir_all(NAMES).map_err(fault("making /run/netns"))?;
        forget_the_dead();
        let name = format!("raddle-{}-{}", std::process::id(), node.0);
        let path = Path::new(NAMES).join(&name);
        File::create_new(&path).map_err(fault("naming it"))?;
        let namespace = Self { name, path }; // from here on it goes by itself
        let path = namespace.path.clone();
        // A namespace belongs to a thread, and this thread ends when all is made.
        let made = thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|why| fault("leaving the machine's own")(why.into()))?;
            let own = Some("/proc/thread-self/ns/net");
            mount(own, &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)
                .map_err(|why| fault("keeping it under its name")(why.into()))?;
            // A kernel without IPv6 has no such file.
            let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            netconfig_rs::Interface::try_from_name("lo")
                .and_then(|lo| lo.set_up(true))
                .map_err(|why| fault("starting its loopback interface")(io::Error::other(why.to_string())))?;
            let device = DeviceBuilder::new()
                .name(INTERFACE)
                .layer(Layer::L2)
                .mac_addr(Mac::host(node.0).0)
                .ipv4(address, 8, None)
                .mtu(mtu)
                .build_sync()
                .map_err(fault("making its TAP interface"))?;
            device.set_nonblocking(true).map_err(fault("setting up its TAP interface"))?;
            Ok(device)
        });
        let made =
            made.join().unwrap_or_else(|_| Err(fault("making it")(io::Error::other("a thread failed"))));
        made.map(|device| (namespace, device))
    }

    /// Its name, as in `ip netns exec NAME COMMAND`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a program in it.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn spawn(&self, mut command: Command) -> io::Result<Child> {
        let namespace = File::open(&self.path)?;
        // A child has the namespace of the thread that starts it.
        let started = thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            command.spawn()
        });
        started.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        forget(&self.path);
    }
}

/// Takes a namespace's name away. The namespace goes when nobody is in it and its interface's descriptor is closed.
fn forget(path: &Path) {
    let _ = umount2(path, MntFlags::MNT_DETACH);
    let _ = fs::remove_file(path);
}

/// Takes away the names that processes have left which live no more.
fn forget_the_dead() {
    let Ok(names) = fs::read_dir(NAMES) else { return };
    for name in names.filter_map(Result::ok) {
        let of = name.file_name().into_string().unwrap_or_default();
        let process =
            of.strip_prefix("raddle-").and_then(|rest| rest.split_once('-')).map(|(process, _)| process);
        let is_dead =
            |process: &str| process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists();
        if process.is_some_and(is_dead) {
            forget(&name.path());
        }
    }
}
