//! Writes rows as comma-separated values, for tools that cannot read Parquet.

use crate::{Cell, Row};
use std::io::{self, Write};

/// Writes a line with the column names, then one line per row. Empty cells stay empty. Doubles are written with enough
/// digits that a reader gets the same values.
///
/// # Errors
/// If the writer fails.
pub fn write_csv<'a, R: Row + 'a>(
    mut writer: impl Write,
    rows: impl IntoIterator<Item = &'a R>,
) -> io::Result<()> {
    let names: Vec<_> = R::COLUMNS.iter().map(|column| column.name).collect();
    writeln!(writer, "{}", names.join(","))?;
    for row in rows {
        for (i, cell) in row.cells().as_ref().iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match cell {
                Cell::Integer(value) => write!(writer, "{comma}{value}")?,
                Cell::Float(value) => write!(writer, "{comma}{value}")?,
                Cell::Empty => write!(writer, "{comma}")?,
            }
        }
        writeln!(writer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowRecord;
    use crate::testing::record;

    #[test]
    fn rows_become_lines_under_their_names() {
        let due = FlowRecord { deadline_ps: Some(4_000), ..record(1) };
        let unfinished = FlowRecord { fct_ps: None, average_rate_bps: None, ..record(2) };
        let mut csv = Vec::new();
        write_csv(&mut csv, &[due, unfinished]).unwrap();
        let expected = "\
flow,src,dst,size_bytes,start_ps,fct_ps,fct_ns,sender_done_ps,ideal_fct_ps,slowdown,goodput_bps,hops,\
reorder_peak_packets,retransmissions,average_rate_bps,deadline_ps
1,2,3,1000,10000,3000001,3000.001,2000001,1500000,2.0000006666666668,2666665777.7780743,6,2,1,1.5,4000
2,3,4,2000,20000,,,2000002,1500000,,,6,2,1,,
";
        assert_eq!(String::from_utf8(csv).unwrap(), expected);
    }
}
