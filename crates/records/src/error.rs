//! Errors of reading and writing files of records.

use std::path::PathBuf;

/// The reason why records cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// The file system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The Parquet library could not read or write the file.
    #[error("{}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error of the Parquet library.
        source: parquet::errors::ParquetError,
    },
    /// The file is not a complete Parquet file.
    #[error("{}: {why}", path.display())]
    NoTable {
        /// The file.
        path: PathBuf,
        /// The reason why the file is not complete.
        why: &'static str,
    },
    /// The file's schema version is not [`SCHEMA_VERSION`](crate::SCHEMA_VERSION).
    #[error(
        "{}: the table has schema version {found}, but this version of Raddle reads schema version {}",
        path.display(),
        crate::SCHEMA_VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The file's schema version.
        found: String,
    },
    /// The file's compression is not supported.
    #[error(
        "{}: compression {codec} is not supported: use zstd, Snappy, gzip, LZ4, or none",
        path.display()
    )]
    Compression {
        /// The file.
        path: PathBuf,
        /// The file's compression, as named by Parquet.
        codec: String,
    },
    /// A column is missing or has another type.
    #[error("the table has no column `{name}` of type {kind}; its columns are {}", present.join(", "))]
    NoColumn {
        /// The requested column.
        name: String,
        /// The requested type.
        kind: &'static str,
        /// The names of the columns that were read from the file.
        present: Vec<String>,
    },
}
