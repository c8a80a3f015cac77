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
