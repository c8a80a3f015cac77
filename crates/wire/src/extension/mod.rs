//! Headers of other crates.
//!
//! Such a header implements [`HeaderInfo`], as the built-in headers do, and [`ExtensionHeader`], which gives the header
//! a number. The header's bytes begin with its [prefix]: the type 0x95 and the number. No single bit flip turns 0x95
//! into the type of another packet. A runtime reads such packets like packets with built-in headers if its [`Decoders`]
//! include the header's decoder.

use crate::{Error, FrameView, Header, HeaderInfo};
use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

/// The first byte of packets with a header of another crate.
pub const TYPE: u8 = 0x95;
/// Length of a [prefix] in bytes.
pub const PREFIX: usize = 3;

/// A header of another crate.
pub trait ExtensionHeader: HeaderInfo + Debug + Clone + PartialEq + Send + Sync + 'static {
    /// The number that distinguishes packets with this header from packets with other extension headers.
    const NUMBER: u16;
}

/// Returns the first bytes of packets with the header `H`.
#[must_use]
pub const fn prefix<H: ExtensionHeader>() -> [u8; PREFIX] {
    let [high, low] = H::NUMBER.to_be_bytes();
    [TYPE, high, low]
}

/// [`ExtensionHeader`] as a trait object.
pub trait Object: HeaderInfo + Debug + Any + Send + Sync {
    /// Returns a copy.
    fn boxed(&self) -> Box<dyn Object>;
    /// Returns true if `other` is a header of the same type with the same fields.
    fn is_equal(&self, other: &dyn Object) -> bool;
}

impl<H: ExtensionHeader> Object for H {
    fn boxed(&self) -> Box<dyn Object> {
        Box::new(self.clone())
    }

    fn is_equal(&self, other: &dyn Object) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// A header of any type from another crate.
#[derive(Debug)]
pub struct Extension(Box<dyn Object>);

impl Extension {
    /// Returns the header, if its type is `H`.
    #[must_use]
    pub fn get<H: ExtensionHeader>(&self) -> Option<&H> {
        let header: &dyn Any = &*self.0;
        header.downcast_ref()
    }

    /// Returns the header, if its type is `H`, so that nodes on the path can change it.
    #[must_use]
    pub fn get_mut<H: ExtensionHeader>(&mut self) -> Option<&mut H> {
        let header: &mut dyn Any = &mut *self.0;
        header.downcast_mut()
    }
}

impl<H: ExtensionHeader> From<H> for Extension {
    fn from(header: H) -> Self {
        Self(Box::new(header))
    }
}

impl Clone for Extension {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for Extension {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_equal(&*other.0)
    }
}

impl Eq for Extension {}

impl Deref for Extension {
    type Target = dyn Object;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Extension {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

/// The headers that a runtime can read: the built-in headers, registered headers of other crates and, if enabled, whole
/// Ethernet frames of other systems.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoders {
    frames: bool,
    extensions: Vec<Decoder>,
}

/// A header and its length in bytes.
type Decoded = Result<(Header, usize), Error>;

/// A decoder for a header of another crate.
#[derive(Debug, Clone, Copy)]
struct Decoder {
    number: u16,
    is_in: fn(&[u8]) -> bool,
    decode: fn(&[u8]) -> Decoded,
}

impl PartialEq for Decoder {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// Error: two headers of other crates have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the number {0:#06x} of an extension header is already taken by another header")]
pub struct NumberTaken(pub u16);

impl Decoders {
    /// The built-in headers only.
    pub const BUILTIN: Self = Self { frames: false, extensions: Vec::new() };

    /// Adds the header `H`.
    ///
    /// # Errors
    /// [`NumberTaken`] if a header with the same number is registered.
    pub fn with<H: ExtensionHeader>(mut self) -> Result<Self, NumberTaken> {
        if self.extensions.iter().any(|other| other.number == H::NUMBER) {
            return Err(NumberTaken(H::NUMBER));
        }
        let decode = |bytes: &[u8]| {
            H::decode_header(bytes).map(|(header, len)| (Header::Extension(header.into()), len))
        };
        self.extensions.push(Decoder { number: H::NUMBER, is_in: H::is_in, decode });
        Ok(self)
    }

    /// Makes the decoders read whole Ethernet frames of other systems too.
    #[must_use]
    pub const fn with_frames(mut self) -> Self {
        self.frames = true;
        self
    }

    /// Returns true if these decoders read whole Ethernet frames of other systems.
    #[must_use]
    pub const fn reads_frames(&self) -> bool {
        self.frames
    }

    /// Decodes the header at the start of `bytes`. Returns the header and its length. In `bytes`, the payload follows
    /// the header, and the header's [trailer](HeaderInfo::trailer_len) follows the payload. Bytes after the packet are
    /// ignored, except that a whole frame of another system ends at the end of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a packet that these decoders read, or if the packet is incomplete.
    pub fn decode(&self, bytes: &[u8]) -> Result<(Header, usize), Error> {
        match self.extensions.iter().find(|decoder| (decoder.is_in)(bytes)) {
            Some(decoder) => (decoder.decode)(bytes),
            None if self.frames && FrameView::is_in(bytes) => {
                FrameView::decode_header(bytes).map(|(view, len)| (Header::Frame(view), len))
            }
            None => Header::decode(bytes),
        }
    }

    /// Decodes the header at the start of `front`, which contains the first bytes of a packet of `len` bytes. Returns
    /// the header and its length. Returns `None` for malformed headers, for headers that need more bytes, for headers
    /// of other crates, and for built-in headers that do not implement [`HeaderInfo::decode_front`]. Does not read the
    /// rest of the packet.
    #[must_use]
    #[inline]
    pub fn decode_front(&self, front: &[u8], len: usize) -> Option<(Header, usize)> {
        let is_told = self.extensions.iter().any(|decoder| (decoder.is_in)(front));
        if is_told {
            None
        } else if self.frames && FrameView::is_in(front) {
            Some((Header::Frame(FrameView::read_front(front, len)?.ok()?), 0))
        } else {
            Header::decode_front(front)
        }
    }
}

#[cfg(test)]
mod tests;
