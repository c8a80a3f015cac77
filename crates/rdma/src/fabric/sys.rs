//! Calls libfabric through `shim.c`. This is the crate's only module with `unsafe`.
//!
//! libfabric and the peers access only memory that was passed to [`Handle::register`]. The handle keeps that memory
//! until the endpoint is closed. So a write in progress never reads freed memory, and no peer writes to freed memory.
//! All views of the memory are slices of atomics. Providers copy to and from the memory with plain instructions, on
//! behalf of another process. A word that is read during such a copy may be the old value, the new value, or a mixture
//! of their bytes. The code that reads the memory handles all three cases.

use super::Provider;
use crate::words::{WORD, Words};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::{self, NonNull};

#[repr(C)]
struct Fabric {
    _opaque: [u8; 0],
}

#[repr(C)]
struct Mr {
    _opaque: [u8; 0],
}

#[expect(unsafe_code, reason = "the functions are written in C")]
unsafe extern "C" {
    fn raddle_fabric_open(
        provider: *const c_char,
        node: *const c_char,
        by_address: c_int,
        queue: usize,
        out: *mut *mut Fabric,
    ) -> c_int;
    fn raddle_fabric_close(fabric: *mut Fabric);
    fn raddle_fabric_stop(fabric: *mut Fabric);
    fn raddle_fabric_provider(fabric: *const Fabric, name: *mut c_char, len: usize) -> usize;
    fn raddle_fabric_outstanding(fabric: *const Fabric) -> usize;
    fn raddle_fabric_address(fabric: *mut Fabric, address: *mut c_void, len: *mut usize) -> c_int;
    fn raddle_fabric_has_string_addresses(fabric: *const Fabric) -> c_int;
    fn raddle_fabric_insert(fabric: *mut Fabric, address: *const c_void, peer: *mut u64) -> c_int;
    fn raddle_fabric_register(
        fabric: *mut Fabric,
        memory: *mut c_void,
        len: usize,
        wanted_key: u64,
        mr: *mut *mut Mr,
        base: *mut u64,
        key: *mut u64,
    ) -> c_int;
    fn raddle_fabric_unregister(mr: *mut Mr);
    fn raddle_fabric_write(
        fabric: *mut Fabric,
        memory: *const c_void,
        len: usize,
        mr: *mut Mr,
        peer: u64,
        to: u64,
        key: u64,
        context: *mut c_void,
    ) -> isize;
    fn raddle_fabric_poll(
        fabric: *mut Fabric,
        contexts: *mut *mut c_void,
        count: usize,
        failed: *mut *mut c_void,
        error: *mut c_int,
    ) -> isize;
    fn raddle_fabric_error(code: c_int) -> *const c_char;
    fn raddle_fabric_is_again(code: isize) -> c_int;
    fn raddle_fabric_is_failed_write(code: isize) -> c_int;
}

/// Maximum length of an address in bytes.
pub(super) const MOST_ADDRESS: usize = 256;

/// Maximum number of completions that one call of [`Handle::poll`] reads.
const BATCH: usize = 64;

/// An error number of libfabric, as a positive number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(c_int);

impl Code {
    /// Converts the negative number that a function of libfabric has returned.
    #[allow(clippy::cast_possible_truncation, reason = "error numbers of libfabric are of type `int`")]
    fn of(returned: isize) -> Self {
        Self(-(returned as c_int))
    }

    fn check(code: c_int) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self(-code)) }
    }

    /// Returns libfabric's text for the code.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn text(self) -> String {
        // SAFETY: the function accepts any number. The string that it returns is constant and is never freed.
        unsafe {
            let text = raddle_fabric_error(self.0);
            if text.is_null() {
                return format!("error {}", self.0);
            }
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// A registration of memory. It owns the registered words.
#[derive(Debug)]
struct Registration {
    mr: NonNull<Mr>,
    words: Words,
}

/// An endpoint with its libfabric domain and all memory that is registered there.
#[derive(Debug)]
pub(super) struct Handle {
    fabric: NonNull<Fabric>,
    registrations: Vec<Registration>,
    /// Length of this endpoint's address in bytes.
    address_len: usize,
}

// SAFETY: libfabric's objects belong to no thread. They were opened with FI_THREAD_DOMAIN, so calls must not overlap.
// Calls cannot overlap: every method that calls libfabric takes `&mut self` or reads only constant data, and `Handle`
// is not `Sync`.
#[expect(unsafe_code, reason = "the handle may move to another thread")]
unsafe impl Send for Handle {}

impl Handle {
    /// Opens an endpoint that sends and receives one-sided writes. `node` is an address of this machine, or the name of
    /// a shared memory segment. If `node` is `None`, libfabric chooses the address. `queue` is the size of the
    /// completion queue.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn open(provider: Provider, node: Option<&str>, queue: usize) -> Result<Self, Code> {
        let name = CString::new(provider.name()).expect("the name of a provider must have no zero byte");
        let node = node
            .map(|node| CString::new(node).expect("an address or a segment's name must have no zero byte"));
        let node = node.as_ref().map_or(ptr::null(), |node| node.as_ptr());
        // If peers write to virtual addresses, the `shm` provider does not check keys and ranges: a peer could even
        // write to memory after it was freed. If peers write to offsets, the provider checks each write at the
        // receiver.
        let by_address = c_int::from(provider != Provider::Shm);
        let mut fabric = ptr::null_mut();
        // SAFETY: both strings outlive the call (a null node is allowed), and `fabric` receives the result.
        Code::check(unsafe { raddle_fabric_open(name.as_ptr(), node, by_address, queue, &raw mut fabric) })?;
        let fabric = NonNull::new(fabric).expect("an opened endpoint");
        let mut handle = Self { fabric, registrations: Vec::new(), address_len: 0 };
        handle.address_len = handle.address()?.len();
        Ok(handle)
    }

    /// Returns the name of the provider that libfabric has chosen, and the maximum number of outstanding writes.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn provider(&self) -> (String, usize) {
        let mut name = [0_u8; 64];
        // SAFETY: the handle is open, and the function writes at most `name.len()` bytes.
        let (len, outstanding) = unsafe {
            let fabric = self.fabric.as_ptr();
            let len = raddle_fabric_provider(fabric, name.as_mut_ptr().cast(), name.len());
            (len, raddle_fabric_outstanding(fabric))
        };
        (String::from_utf8_lossy(&name[..len.min(name.len())]).into_owned(), outstanding)
    }

    /// Returns this endpoint's address.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn address(&mut self) -> Result<Vec<u8>, Code> {
        let mut address = vec![0_u8; MOST_ADDRESS];
        let mut len = address.len();
        // SAFETY: the handle is open. `address` has `len` bytes, and the function writes at most `len` bytes.
        Code::check(unsafe {
            raddle_fabric_address(self.fabric.as_ptr(), address.as_mut_ptr().cast(), &raw mut len)
        })?;
        address.truncate(len);
        Ok(address)
    }

    /// Returns true if these bytes can be the address of a peer.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn is_address(&mut self, address: &[u8]) -> bool {
        // SAFETY: the handle is open.
        let strings = unsafe { raddle_fabric_has_string_addresses(self.fabric.as_ptr()) } != 0;
        if strings {
            let is_printed = |byte: &u8| byte.is_ascii_graphic();
            return address.len() < MOST_ADDRESS
                && matches!(address, [text @ .., 0] if !text.is_empty() && text.iter().all(is_printed));
        }
        // A socket address begins with its address family. The provider reads as many bytes as the address family
        // requires.
        let own = self.address();
        address.len() == self.address_len && own.is_ok_and(|own| own.get(..2) == address.get(..2))
    }

    /// Adds a peer. The address must have passed [`is_address`](Self::is_address).
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn insert(&mut self, address: &[u8]) -> Result<u64, Code> {
        let mut padded = [0_u8; 2 * MOST_ADDRESS];
        padded[..address.len()].copy_from_slice(address);
        let mut peer = 0;
        // SAFETY: the handle is open. The provider reads one address. A string address ends at the first zero byte, and
        // the padding consists of zeros. Socket addresses of all families are shorter than `padded`.
        Code::check(unsafe {
            raddle_fabric_insert(self.fabric.as_ptr(), padded.as_ptr().cast(), &raw mut peer)
        })?;
        Ok(peer)
    }

    /// Registers memory. Peers that know the key may write to the memory until the handle is dropped. Returns the
    /// registration's number, the address (or offset) that peers use for the first byte, and the key.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn register(&mut self, words: &Words) -> Result<(usize, u64, u64), Code> {
        let (mut mr, mut base, mut key) = (ptr::null_mut(), 0, 0);
        let number = self.registrations.len();
        // SAFETY: the handle is open. The words are one piece of memory of this length. The words are atomics, so they
        // may be written through a shared reference. `registrations` keeps the words until `drop` has closed the
        // endpoint and the registration.
        Code::check(unsafe {
            raddle_fabric_register(
                self.fabric.as_ptr(),
                words.as_ptr().cast_mut().cast(),
                words.len() * WORD,
                number as u64 + 1,
                &raw mut mr,
                &raw mut base,
                &raw mut key,
            )
        })?;
        let mr = NonNull::new(mr).expect("a registration");
        self.registrations.push(Registration { mr, words: words.clone() });
        Ok((number, base, key))
    }

    /// Posts a write of some words of a registration. `peer` must have been returned by [`insert`](Self::insert).
    /// Returns false if libfabric cannot take the write now: its queue is full, or the connection to the peer is not up
    /// yet.
    ///
    /// # Panics
    /// If the registration does not exist, or does not contain these words.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn write(
        &mut self,
        registration: usize,
        range: Range<usize>,
        peer: u64,
        to: u64,
        key: u64,
        context: usize,
    ) -> Result<bool, Code> {
        let Registration { mr, words } = &self.registrations[registration];
        let words = &words[range];
        // SAFETY: the handle and the registration are open. The words belong to the registration, which keeps them. The
        // peer belongs to this handle. libfabric returns the context without dereferencing it. The peer's provider
        // checks `to` and `key`.
        let code = unsafe {
            raddle_fabric_write(
                self.fabric.as_ptr(),
                words.as_ptr().cast(),
                size_of_val(words),
                mr.as_ptr(),
                peer,
                to,
                key,
                ptr::without_provenance_mut(context),
            )
        };
        // SAFETY: the function accepts any number.
        match code {
            0 => Ok(true),
            again if unsafe { raddle_fabric_is_again(again) } != 0 => Ok(false),
            code => Err(Code::of(code)),
        }
    }

    /// Lets libfabric make progress. Calls `done` with the contexts of writes that have completed or failed: at most
    /// `BATCH` writes per call, so that the call always returns soon.
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    pub(super) fn poll(&mut self, mut done: impl FnMut(usize, Result<(), Code>)) -> Result<(), Code> {
        let mut contexts = [ptr::null_mut(); BATCH];
        let (mut failed, mut error) = (ptr::null_mut(), 0);
        // SAFETY: the handle is open, and `contexts` has room for a batch.
        let count = unsafe {
            raddle_fabric_poll(
                self.fabric.as_ptr(),
                contexts.as_mut_ptr(),
                BATCH,
                &raw mut failed,
                &raw mut error,
            )
        };
        if let Ok(count) = usize::try_from(count) {
            contexts.iter().take(count).for_each(|context: &*mut c_void| done(context.addr(), Ok(())));
            return Ok(());
        }
        // SAFETY: the function accepts any number.
        if unsafe { raddle_fabric_is_failed_write(count) } != 0 {
            done(failed.addr(), Err(Code(error)));
            return Ok(());
        }
        Err(Code::of(count))
    }
}

impl Drop for Handle {
    #[expect(unsafe_code, reason = "the function calls libfabric")]
    fn drop(&mut self) {
        // SAFETY: the handle is open, and is not used after this. The endpoint is closed first, then the registrations,
        // then the domain. The memory is freed last, when the fields of `self` are dropped.
        unsafe {
            raddle_fabric_stop(self.fabric.as_ptr());
            for registration in &self.registrations {
                raddle_fabric_unregister(registration.mr.as_ptr());
            }
            raddle_fabric_close(self.fabric.as_ptr());
        }
    }
}
