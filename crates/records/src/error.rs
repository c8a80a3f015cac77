//! What can go wrong with files of records.

use std::path::PathBuf;

/// Why records cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not Parquet, or could not be written as such.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: parquet::errors::ParquetError,
    },
    /// The file is not a whole Parquet file.
    #[error("{}: {why}", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The columns of the file are of another version.
    #[error(
        "{}: the table has schema version {found}, and this version of Raddle reads {}",
        path.display(),
        crate::SCHEMA_VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// The file is compressed in a way that is not read.
    #[error(
        "{}: compression {codec} is not supported: use zstd, Snappy, gzip, LZ4, or none",
        path.display()
    )]
    Compression {
        /// The file.
        path: PathBuf,
        /// Its compression, as Parquet names it.
        codec: String,
    },
    /// A column is missing, or of another type.
    #[error("no column `{name}` of {kind}s; there are {}", present.join(", "))]
    NoColumn {
        /// The column asked for.
        name: String,
        /// The type asked for.
        kind: &'static str,
        /// The columns that are there.
        present: Vec<String>,
    },
}
