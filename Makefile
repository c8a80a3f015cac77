# What CI runs, and what the README tells a newcomer to run.

.PHONY: test bench fuzz

test:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	cargo test --workspace --locked

bench:
	cargo bench -p raddle-bench

# Needs a nightly toolchain and cargo-fuzz.
fuzz:
	cargo +nightly fuzz run decode -- -max_total_time=60
