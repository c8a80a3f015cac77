//! Benchmarks of Raddle; see `benches/`. Run them with `cargo bench -p raddle-bench`.
