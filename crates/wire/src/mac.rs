//! Locally administered Ethernet addresses of hosts and of switch ports (specifications/cee.md §4.1):
//!
//! ```text
//! host         06 : 00                 : 00    : number, 24 bits
//! switch port  06 : port / 256 * 2 + 1 : level : index, 16 bits  : port % 256
//! ```
//!
//! The last bit of the second byte distinguishes host addresses from port addresses. The seven bits before it
//! are the port's upper bits, which are 0 if a switch has at most 256 ports.

use std::fmt;

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// The first byte of every host and port address.
    pub(crate) const TYPE: u8 = 0x06;

    /// Returns the address of host `node`.
    ///
    /// # Panics
    /// If the node is 2^24 or more.
    #[must_use]
    pub const fn host(node: u32) -> Self {
        assert!(node < 1 << 24, "a host's number must fit 24 bits");
        let [_, high, middle, low] = node.to_be_bytes();
        Self([Self::TYPE, 0, 0, high, middle, low])
    }

    /// Returns the address of port `port` of switch `index` in the tier `level`.
    ///
    /// # Panics
    /// If the port is 2^15 or more.
    #[must_use]
    pub const fn switch_port(level: u8, index: u16, port: u16) -> Self {
        assert!(port < 1 << 15, "a switch's port number must fit 15 bits");
        let ([index_high, index_low], [port_high, port_low]) = (index.to_be_bytes(), port.to_be_bytes());
        Self([Self::TYPE, port_high << 1 | 1, level, index_high, index_low, port_low])
    }

    /// Returns the node number in a host's address; `None` for other addresses.
    #[must_use]
    pub const fn node(self) -> Option<u32> {
        match self.0 {
            [Self::TYPE, 0, 0, high, middle, low] => Some(u32::from_be_bytes([0, high, middle, low])),
            _ => None,
        }
    }

    /// Returns the port number in the address of a switch port; `None` for other addresses.
    #[must_use]
    pub const fn port(self) -> Option<u16> {
        match self.0 {
            [Self::TYPE, high, .., low] if high & 1 == 1 => Some(u16::from_be_bytes([high >> 1, low])),
            _ => None,
        }
    }

    /// Returns the address at byte `at`.
    pub(crate) fn get(bytes: &[u8], at: usize) -> Self {
        Self(std::array::from_fn(|index| bytes[at + index]))
    }

    /// Writes the address at byte `at`.
    pub(crate) fn put(self, bytes: &mut [u8], at: usize) {
        bytes[at..at + 6].copy_from_slice(&self.0);
    }

    /// Returns the address as a number, for error messages.
    pub(crate) fn bits(self) -> u64 {
        self.0.into_iter().fold(0, |bits, byte| bits << 8 | u64::from(byte))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(out, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(out, ":{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_specification() {
        assert_eq!(Mac::host(31).to_string(), "06:00:00:00:00:1f");
        assert_eq!(Mac::host(0x01_02_03).to_string(), "06:00:00:01:02:03");
        assert_eq!(Mac::switch_port(2, 1, 2).to_string(), "06:01:02:00:01:02");
        assert_eq!(Mac::switch_port(2, 0x1234, 0x7FFF).to_string(), "06:ff:02:12:34:ff");
    }

    #[test]
    fn only_a_hosts_address_names_a_node() {
        for node in [0, 1, 0x1234, 0xFF_FFFF] {
            assert_eq!(Mac::host(node).node(), Some(node));
            assert_eq!(Mac::host(node).port(), None);
        }
        assert_eq!(Mac::switch_port(0, 0, 0).node(), None);
        assert_eq!(Mac([2, 0, 0, 0, 0, 1]).node(), None);
    }

    #[test]
    fn a_switch_ports_address_names_the_port() {
        for port in [0, 1, 0xFF, 0x100, 0x7FFF] {
            assert_eq!(Mac::switch_port(2, 0x1234, port).port(), Some(port));
        }
        assert_eq!(Mac([2, 1, 0, 0, 0, 1]).port(), None);
    }
}
